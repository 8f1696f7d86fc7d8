import type { Dossier } from '../backstage.ts'
import { createRpc } from '../chain/rpc.ts'
import { ConfigError } from '../errors.ts'
import { HOUR_MS } from '../protocol/duration.ts'
import type { Address } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { comparePayments } from './compare-payments.ts'
import { compareRefunds } from './compare-refunds.ts'
import type { Discrepancy } from './discrepancy.ts'
import { indexLedger } from './ledger-index.ts'
import { createTokenBook } from './token-book.ts'

export interface Reconciliation {
  network: string
  wallets: Address[]
  fromBlock: number
  /** The last finalized block: later blocks may still change, and may not be recorded yet. */
  toBlock: number
  challenges: number
  /** Entries of other networks, which were not compared. */
  foreign: number
  movements: { incoming: number; outgoing: number }
  refundsWaiting: number
  found: Discrepancy[]
}

export interface ReconcileProgress {
  onEntry(count: number): void
  onBlock(done: number, total: number): void
}

const RPC_LIMITS = { timeoutMs: 20_000, maxBytes: 16 * 1024 * 1024 }
/** A day on Base: transfers shortly before the first receipt are compared too. */
const MARGIN_BLOCKS = 43_200
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
    ledger(): AsyncIterable<Omit<Dossier, 'audit'>>
    fromBlock: number | undefined
    nowMs: number
    graceMs?: number
  },
  progress: ReconcileProgress,
): Promise<Reconciliation> {
  const { network, walletAddress, refundWallet, nowMs, graceMs = GRACE_MS } = parts
  const book = createTokenBook(createRpc(network.rpcUrl, RPC_LIMITS), network.token.address)
  // Read before the ledger: everything in these blocks has had time to be recorded.
  const toBlock = await book.finalizedHeight()
  const index = await indexLedger(parts.ledger(), network.id, progress.onEntry)
  const earliest = Math.max(0, (index.fromHeight ?? toBlock) - MARGIN_BLOCKS)
  const fromBlock = parts.fromBlock ?? earliest
  if (fromBlock > toBlock) {
    throw new ConfigError([`--from-block is ${fromBlock}, and the last finalized block is ${toBlock}.`])
  }
  const receiving = [...new Set([walletAddress, ...index.payTos])]
  const sending = [...new Set([...receiving, ...(refundWallet ? [refundWallet] : [])])]
  const total = toBlock - fromBlock + 1
  const { incoming, outgoing } = await book.movements({ receiving, sending }, fromBlock, toBlock, (block) =>
    progress.onBlock(block - fromBlock + 1, total),
  )
  const own = new Set(sending)
  const received = incoming.filter(({ from }) => !own.has(from))
  const sent = outgoing.filter(({ to }) => !own.has(to))
  const shared = { index, book, network, fromBlock }
  const payments = await comparePayments({ ...shared, incoming: received, toBlock })
  const refunds = await compareRefunds({ ...shared, outgoing: sent, nowMs, graceMs })
  return {
    network: network.id,
    wallets: sending,
    fromBlock,
    toBlock,
    challenges: index.accounts.length,
    foreign: index.foreign,
    movements: { incoming: received.length, outgoing: sent.length },
    refundsWaiting: refunds.waiting,
    found: [...payments, ...refunds.found],
  }
}
