import { createRpcPool } from '../chain/rpc-pool.ts'
import { ConfigError } from '../errors.ts'
import { DAY_MS, HOUR_MS } from '../protocol/duration.ts'
import type { Address } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import type { CreditFigures } from '../rules/credit-lot.ts'
import { compareCredits } from './compare-credits.ts'
import { comparePayments } from './compare-payments.ts'
import { compareRefunds } from './compare-refunds.ts'
import type { Discrepancy } from './discrepancy.ts'
import { indexLedger, type LedgerEntry, type LedgerIndex, placeKey } from './ledger-index.ts'
import { describeReturned, findReturned } from './returned-payments.ts'
import { createTokenBook, type Movement } from './token-book.ts'

export interface Reconciliation {
  network: string
  wallets: Address[]
  fromBlock: number
  /** The last finalized block: later blocks may still change, and may not be recorded yet. */
  toBlock: number
  challenges: number
  /** Entries of other networks, which were not compared. */
  foreign: number
  /** The same by their network. */
  foreignNetworks: Record<string, number>
  movements: { incoming: number; outgoing: number }
  refundsWaiting: number
  /** Of purchases paid on this network; absent if there are none. */
  credits?: CreditFigures
  found: Discrepancy[]
}

export interface ReconcileProgress {
  onEntry(count: number): void
  onBlock(done: number, total: number): void
}

const RPC_LIMITS = { timeoutMs: 20_000, maxBytes: 16 * 1024 * 1024 }
/** Transfers shortly before the first receipt are compared too. */
const MARGIN_MS = DAY_MS
const GRACE_MS = HOUR_MS

/**
 * Compares the token's own logs with the ledger, up to the last finalized block. Changes nothing. Rejects with
 * UnavailableError when the chain cannot be asked.
 */
export async function reconcile(
  parts: {
    network: Network
    walletAddress: Address
    refundWallet: Address | undefined
    ledger(): AsyncIterable<LedgerEntry>
    fromBlock: number | undefined
    nowMs: number
    /** The age at which a paid call is refunded that nobody answered: until then its buyer may repeat it. */
    refundMinAgeMs: number
    graceMs?: number
    /** What the seller calls the setting of this network's RPC. */
    rpcName?: string
  },
  progress: ReconcileProgress,
): Promise<Reconciliation> {
  const { network, walletAddress, refundWallet, nowMs, refundMinAgeMs } = parts
  const { graceMs = GRACE_MS, rpcName = 'RPC_URL' } = parts
  const book = createTokenBook(createRpcPool(network, RPC_LIMITS), network)
  // Read before the ledger: everything in these blocks has had time to be recorded.
  const toBlock = await book.finalizedHeight()
  const index = await indexLedger(parts.ledger(), network.id, progress.onEntry)
  const earliest = Math.max(0, (index.fromHeight ?? toBlock) - Math.ceil(MARGIN_MS / network.blockMs))
  const fromBlock = parts.fromBlock ?? earliest
  if (fromBlock > toBlock) {
    throw new ConfigError([
      `--from-block is ${fromBlock}, and the last finalized block of ${network.name} is ${toBlock}.`,
    ])
  }
  const receiving = [...new Set([walletAddress, ...index.payTos])]
  const sending = [...new Set([...receiving, ...(refundWallet ? [refundWallet] : [])])]
  const total = toBlock - fromBlock + 1
  const { incoming, outgoing } = await book.movements({ receiving, sending }, fromBlock, toBlock, (block) =>
    progress.onBlock(block - fromBlock + 1, total),
  )
  // A transfer between the seller's own wallets is no sale, unless the books say that it is: the seller may buy as well.
  const own = new Set(sending)
  const recorded = recordedRefunds(index)
  const received = incoming.filter((one) => !own.has(one.from) || index.byPlace.has(placeKey(one)))
  const sent = outgoing.filter((one) => !own.has(one.to) || recorded.has(refundKey(one.txHash, one.to)))
  const shared = { index, book, network, fromBlock, rpcName }
  const returned = await findReturned({ ...shared, incoming: received, outgoing: sent })
  const settled = new Set(returned.flatMap(({ payment, refund }) => [payment, refund]))
  const unsettled = (list: readonly Movement[]) => list.filter((one) => !settled.has(one))
  const payments = await comparePayments({ ...shared, incoming: unsettled(received), toBlock })
  const refunds = await compareRefunds({
    ...shared,
    outgoing: unsettled(sent),
    nowMs,
    refundMinAgeMs,
    graceMs,
  })
  const { found: credits, figures } = compareCredits(index, network.token)
  return {
    network: network.id,
    wallets: sending,
    fromBlock,
    toBlock,
    challenges: index.accounts.length,
    foreign: [...index.foreign.values()].reduce((sum, count) => sum + count, 0),
    foreignNetworks: Object.fromEntries(index.foreign),
    movements: { incoming: received.length, outgoing: sent.length },
    refundsWaiting: refunds.waiting,
    ...(figures.lots > 0 && { credits: figures }),
    found: [
      ...payments,
      ...returned.map((one) => describeReturned(one, network.token)),
      ...refunds.found,
      ...credits,
    ],
  }
}

const refundKey = (txHash: string, recipient: string): string => `${txHash}:${recipient}`

/** Where the books have refunds. */
function recordedRefunds({ accounts }: LedgerIndex): ReadonlySet<string> {
  const refunds = accounts.flatMap((account) => account.refunds)
  return new Set(refunds.flatMap(({ txHash, recipient }) => (txHash ? [refundKey(txHash, recipient)] : [])))
}
