import { privateKeyToAddress } from 'viem/accounts'
import type { NetworkConfig } from '../config/resolved-config.ts'
import { UnavailableError } from '../errors.ts'
import type { Address } from '../protocol/hex.ts'
import { reconcile } from '../reconcile/reconcile.ts'
import type { LedgerEntry } from '../server/admin/read-ledger.ts'
import { type Compared, describeOne, describeSeveral } from './describe-reconciliation.ts'
import { load, statedConfig } from './load.ts'
import { openBackstage } from './open-backstage.ts'
import { linesOf, type OpenBackstage } from './operator-api.ts'
import { checkFromBlock, chooseNetworks, firstBlocks } from './reconcile-flags.ts'
import type { Report, Terminal } from './terminal.ts'
import { startWaiting, type Waiting } from './waiting.ts'

/** Compares the chain with the ledger; the exit code is 1 if there is an error, so that cron reports it. */
export async function reconcileBooks(
  terminal: Terminal,
  flags: { json: boolean; fromBlock: string | undefined; network: string | undefined },
): Promise<Report> {
  checkFromBlock(flags.fromBlock)
  const loaded = await load(terminal)
  const { networks: configured, refundMinAgeSeconds } = statedConfig(loaded)
  const chosen = chooseNetworks(configured, flags.network)
  const fromBlocks = firstBlocks(chosen, flags.fromBlock)
  const backstage = await openBackstage(loaded, 'look')
  const waiting = await startWaiting(terminal, flags.json, 'Reading the books')
  try {
    const compare = (on: NetworkConfig) =>
      compareOn(on, {
        backstage,
        waiting,
        fromBlock: fromBlocks.get(on.network.id),
        several: configured.length > 1,
        refundMinAgeMs: refundMinAgeSeconds * 1000,
      })
    if (chosen.length === 1) return describeOne(await compare(chosen[0]!), backstage)
    const compared: Compared[] = []
    // One after the other: each reads the whole ledger, and a public node answers only so many questions at once.
    for (const on of chosen) {
      const { network, labels } = on
      try {
        compared.push({ network, result: await compare(on) })
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error
        compared.push({ network, unreadable: error.message, rpcName: labels.rpcUrl })
      }
    }
    return describeSeveral(compared, backstage)
  } finally {
    waiting.end()
    await backstage.close()
  }
}

function compareOn(
  { network, walletAddress, refundWalletPrivateKey, labels }: NetworkConfig,
  parts: {
    backstage: OpenBackstage
    waiting: Waiting
    fromBlock: number | undefined
    several: boolean
    refundMinAgeMs: number
  },
) {
  const { backstage, waiting, fromBlock, several, refundMinAgeMs } = parts
  return reconcile(
    {
      network,
      walletAddress,
      refundWallet: refundWalletPrivateKey
        ? (privateKeyToAddress(refundWalletPrivateKey).toLowerCase() as Address)
        : undefined,
      ledger: () => readLedger(backstage),
      fromBlock,
      nowMs: Date.now(),
      refundMinAgeMs,
      ...(several && { rpcName: labels.rpcUrl }),
    },
    {
      onEntry: (count) => waiting.at(count, undefined),
      onBlock: (done, total) => {
        waiting.at(done, total, several ? `Reading ${network.name}, block` : 'Reading the chain, block')
      },
    },
  )
}

async function* readLedger(backstage: OpenBackstage): AsyncGenerator<LedgerEntry> {
  for await (const line of linesOf(await backstage.ask('/ledger'))) yield JSON.parse(line) as LedgerEntry
}
