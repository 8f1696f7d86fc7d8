import type { AuthorizationRow, Block, ReceiptRow, Use } from '../../ports.ts'
import type { Hex } from '../../protocol/hex.ts'
import { isDead, matchesTransfer } from '../../rules/judge-attempt.ts'
import { afterCommit, type Core, commit } from '../core.ts'
import { carriedBy, carriersOf } from '../metered/carriers.ts'
import { holdAgain } from '../metered/hold-again.ts'
import { rememberPaid } from '../metered/stream-call.ts'
import type { OpenRail } from '../rails.ts'
import { confirmPayments } from './confirm.ts'
import { finalUses } from './final-uses.ts'
import { followTransfer } from './follow-transfer.ts'
import { lackingMs, loseReceipt, untilNextLook } from './lose-receipt.ts'
import type { Resolver } from './resolve.ts'

/**
 * Follows receipts until their block is final. If a reorganisation moved one, it is rewritten. If it dropped the
 * payment, the payment is sent again while it is valid. If the payment is gone for good, the receipt is marked as
 * lost and the operator gets an alert.
 */
export async function followReceipts(
  core: Core,
  rail: OpenRail,
  resolver: Resolver,
  rows: readonly ReceiptRow[],
): Promise<void> {
  const transfers = rows.filter(({ source }) => source.kind === 'transfer')
  const payments = rows.filter(({ source }) => source.kind === 'payment')
  await Promise.all(transfers.map((receipt) => followTransfer(core, rail, receipt)))
  if (payments.length === 0) return
  const head = await rail.chain.head()
  const decided = await withoutWaiting(core, rail, payments, head)
  await followPayments(core, rail, resolver, decided, head.finalized)
}

/**
 * Leaves out the payments whose block is not final yet and whose transaction is still in it: only their next look is
 * stored. That takes one call per transaction; a search would take several. Whether a payment is final, moved or gone
 * is always decided by the search.
 */
async function withoutWaiting(
  core: Core,
  rail: OpenRail,
  rows: readonly ReceiptRow[],
  { latest, finalized }: { latest: Block; finalized: Block },
): Promise<ReceiptRow[]> {
  const early = rows.filter(({ blockNumber }) => blockNumber > finalized.number)
  const mined =
    early.length > 0 ? await rail.chain.mined([...new Set(early.map(({ txHash }) => txHash))]) : []
  const minedIn = new Map(mined.filter(({ success }) => success).map((tx) => [tx.hash, tx.blockNumber]))
  const waiting = new Set(early.filter(({ txHash, blockNumber }) => minedIn.get(txHash) === blockNumber))
  const perBlockMs = lackingMs(latest, finalized) / Math.max(1, latest.number - finalized.number)
  await Promise.all(
    [...waiting].map((row) => {
      const dueAt = core.clock.now() + untilNextLook((row.blockNumber - finalized.number) * perBlockMs)
      return commit(core, { puts: [{ table: 'receipts', row: { ...row, dueAt } }] })
    }),
  )
  return rows.filter((row) => !waiting.has(row))
}

async function followPayments(
  core: Core,
  rail: OpenRail,
  resolver: Resolver,
  rows: readonly ReceiptRow[],
  finalized: Block,
): Promise<void> {
  if (rows.length === 0) return
  const keys = rows.map(({ key }) => key)
  const attempts = await core.store.get('authorizations', keys)
  const fromHeight = Math.min(...rows.map((row) => row.fromHeight))
  const known = keys.filter((_, index) => attempts[index] !== undefined)
  // What is still where it was is found in its own transaction, without a search.
  const hashes = rail.scheme.metered
    ? await hashesOf(core, rows, attempts)
    : [...new Set(rows.map(({ txHash }) => txHash))]
  const { found } = await finalUses(core, rail, known, fromHeight, hashes, finalized)
  const uses = new Map(found.map((use) => [use.key, use]))
  await Promise.all(
    rows.map(async (receipt, index) => {
      const attempt = attempts[index]
      if (!attempt) throw new Error(`receipt ${receipt.key} has no authorization`)
      return followReceipt(core, rail, resolver, { receipt, attempt, use: uses.get(receipt.key), finalized })
    }),
  )
}

/** A metered payment can only be found in our own transactions: those that carried it, and the one that paid. */
async function hashesOf(
  core: Core,
  rows: readonly ReceiptRow[],
  attempts: ReadonlyArray<AuthorizationRow | undefined>,
): Promise<Hex[]> {
  const keys = attempts.flatMap((attempt) => (attempt ? carriersOf(attempt) : []))
  const carried = await core.store.get('walletTxs', [...new Set(keys)])
  const found = attempts.flatMap((attempt) => attempt?.foundTx ?? [])
  const paid = rows.map(({ txHash }) => txHash)
  return [...new Set([...paid, ...found, ...carried.flatMap((tx) => tx?.hashes ?? [])])]
}

interface Followed {
  receipt: ReceiptRow
  attempt: AuthorizationRow
  use: Use | undefined
  finalized: Block
}

async function followReceipt(
  core: Core,
  rail: OpenRail,
  resolver: Resolver,
  { receipt, attempt, use, finalized }: Followed,
): Promise<void> {
  const signed = rail.scheme.factsOf(attempt.auth)
  if (use?.kind === 'transfer' && matchesTransfer(signed, use)) {
    const moved = use.txHash !== receipt.txHash || use.block.hash !== receipt.blockHash
    if (moved) await confirmPayments(core, rail, [{ attempt, use }])
    else {
      const final = use.block.number <= finalized.number
      const dueAt = final ? null : core.clock.now() + untilNextLook(lackingMs(use.block, finalized))
      await commit(core, { puts: [{ table: 'receipts', row: { ...receipt, finalized: final, dueAt } }] })
      if (final) await rememberPaid(core, rail, receipt.payer)
    }
    return
  }
  if (isDead(signed, use, finalized)) return loseReceipt(core, receipt, attempt)
  if (attempt.phase !== 'CONFIRMED') return
  const { row, puts } = await holdAgain(core, rail, attempt)
  const again: AuthorizationRow = {
    ...carriedBy(rail, row, null),
    phase: 'BROADCAST',
    dueAt: core.clock.now() + core.config.leaseMs,
  }
  if (await commit(core, { puts: [{ table: 'authorizations', row: again }, ...puts] }))
    await resolver.adopt([afterCommit(again)])
}
