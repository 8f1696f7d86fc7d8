import { SETTLER, SETTLER_SOLC } from '../chain/settler.ts'
import type { NetworkConfig } from '../config/resolved-config.ts'
import { ConfigError } from '../errors.ts'
import { deploySettler } from '../settlement/deploy-settler.ts'
import { load, statedConfig } from './load.ts'
import { chooseNetworks } from './reconcile-flags.ts'
import { faultsOf, type Report, type Terminal } from './terminal.ts'
import { startWaiting } from './waiting.ts'

interface Result {
  network: string
  name: string
  status: 'there' | 'deployed' | 'failed'
  txHash?: string
  error?: string
}

/** Puts the settler contract on every configured network with a gas wallet, or on one. */
export async function deploySettlers(
  terminal: Terminal,
  { json, network }: { json: boolean; network: string | undefined },
): Promise<Report> {
  const chosen = chooseNetworks(statedConfig(await load(terminal)).networks, network)
  const places = chosen.flatMap((on) => (on.settlement.kind === 'gas-wallet' ? [on] : []))
  if (places.length === 0) {
    const labels = chosen.map((on) => on.labels.gasWalletPrivateKey).join(' or ')
    throw new ConfigError([`${labels} is not set: a gas wallet of yours has to pay for the deployment.`])
  }
  const waiting = await startWaiting(terminal, json, 'Deploying')
  const results: Result[] = []
  try {
    for (const place of places) {
      waiting.at(results.length, places.length)
      results.push(await deployOn(place))
    }
  } finally {
    waiting.end()
  }
  const failed = results.some(({ status }) => status === 'failed')
  return {
    lines: [...results.map(lineOf), ...(failed ? [] : verifyLines(places))],
    json: { ok: !failed, address: SETTLER, solc: SETTLER_SOLC, results },
    failed,
  }
}

/** One network that fails must not hide what became of the others. */
async function deployOn({ network, settlement }: NetworkConfig): Promise<Result> {
  const place = { network: network.id, name: network.name }
  if (settlement.kind !== 'gas-wallet') throw new Error('only a gas wallet can deploy')
  try {
    const done = await deploySettler(network, settlement.privateKeys[0], {
      now: Date.now,
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    })
    return { ...place, status: done.kind, ...(done.kind === 'deployed' && { txHash: done.txHash }) }
  } catch (error) {
    return { ...place, status: 'failed', error: faultsOf(error).join(' ') }
  }
}

function lineOf({ name, network, status, txHash, error }: Result): Report['lines'][number] {
  const where = `${name} (${network})`
  if (status === 'failed') return { level: 'error', text: `${where}: ${error}` }
  const how = status === 'there' ? 'was there already' : `was deployed by ${txHash}`
  return { level: 'ok', text: `${where}: the settler contract ${how}, at ${SETTLER}` }
}

const verifyLines = (places: readonly NetworkConfig[]): string[] => [
  `Its source is contracts/PaystileSettler.sol of this package. To show it at an explorer, verify ${SETTLER} there by "standard JSON input" with contracts/settler-input.json and compiler v${SETTLER_SOLC}.`,
  `To use it: ${places.map((place) => `${place.labels.settlerContract}=true`).join(' or ')}`,
]
