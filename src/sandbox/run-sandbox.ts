import { parseArgs } from 'node:util'
import { BuyerError } from '../buyer/index.ts'
import { buyFromSandbox } from './buy-from-sandbox.ts'
import { askToInstall, ensureChain } from './ensure-chain.ts'
import { INSTALLED, type SandboxCommands } from './sandbox-commands.ts'
import { sandboxNetworks } from './sandbox-networks.ts'
import { wantedPort } from './sandbox-port.ts'
import { startSandbox } from './start-sandbox.ts'

const ACTIONS = ['start', 'buy', 'install'] as const
const EXPECTED = 'it can be start, buy [port] or install'

/** What `paystile sandbox` runs. */
export const runInstalledSandbox = (words: readonly string[]): Promise<void> => runSandbox(words, INSTALLED)

/**
 * What `paystile sandbox`, `npm start` and `npm run buy` run: `[start] [--networks a,b]`, `buy [port] [--network a]` or
 * `install`. Production loads nothing of this folder.
 */
export async function runSandbox(words: readonly string[], commands: SandboxCommands): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...words],
    options: { networks: { type: 'string' }, network: { type: 'string' } },
    allowPositionals: true,
  })
  const [given = 'start', place, ...more] = positionals
  const action = ACTIONS.find((known) => known === given)
  if (action === undefined)
    throw new Error(`${JSON.stringify(given)} is no action of the sandbox; ${EXPECTED}.`)
  const extra = action === 'buy' ? more[0] : place
  if (extra !== undefined) throw new Error(`${extra} is one argument too many; ${EXPECTED}.`)
  if (action !== 'buy' && values.network !== undefined)
    throw new Error('--network is where to buy; say by --networks where the sandbox sells.')
  if (action !== 'start' && values.networks !== undefined)
    throw new Error('--networks belongs to the start of a sandbox; say by --network where to buy.')
  switch (action) {
    case 'buy':
      return buyFromSandbox({ place, network: values.network }, commands).catch((cause: unknown) => {
        throw withHint(cause, commands)
      })
    case 'install':
      await ensureChain(async () => true)
      console.log(`The local chain is here. Start the sandbox with: ${commands.start}`)
      return
    case 'start': {
      const networks = sandboxNetworks(values.networks)
      const wanted = wantedPort(process.env)
      await ensureChain(askToInstall)
      return startSandbox(networks, wanted, commands)
    }
  }
}

/** On a local chain no faucet helps: money comes with the sandbox. */
function withHint(cause: unknown, { start }: SandboxCommands): unknown {
  if (!(cause instanceof BuyerError) || !LACKS_MONEY.has(cause.code)) return cause
  return new Error(`${cause.message}. If the sandbox's buyer has spent its $100, start again: ${start}`, {
    cause,
  })
}

const LACKS_MONEY = new Set<string>(['PAYMENT_FAILED', 'INSUFFICIENT_FUNDS'])
