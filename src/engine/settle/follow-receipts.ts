import type { AuthorizationRow, Block, ReceiptRow, Use } from '../../ports.ts'
import type { Hex } from '../../protocol/hex.ts'
import { isDead, matchesTransfer } from '../../rules/judge-attempt.ts'
import { afterCommit, type Core, commit } from '../core.ts'
import { carriedBy, carriersOf } from '../metered/carriers.ts'
import { rememberPaid } from '../metered/stream-call.ts'
import type { OpenRail } from '../rails.ts'
import { confirmPayments } from './confirm.ts'
import { finalUses } from './final-uses.ts'
import { followTransfer } from './follow-transfer.ts'
import { loseReceipt, untilNextLook } from './lose-receipt.ts'
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
  await followPayments(core, rail, resolver, payments)
}

async function followPayments(
  core: Core,
  rail: OpenRail,
  resolver: Resolver,
  rows: readonly ReceiptRow[],
): Promise<void> {
  if (rows.length === 0) return
  const keys = rows.map(({ key }) => key)
  const attempts = await core.store.get('authorizations', keys)
  const fromHeight = Math.min(...rows.map((row) => row.fromHeight))
  const known = keys.filter((_, index) => attempts[index] !== undefined)
  const hashes = rail.scheme.metered && (await hashesOf(core, rows, attempts))
  const { found, finalized } = await finalUses(core, rail, known, fromHeight, hashes)
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
  return [...new Set([...rows.map(({ txHash }) => txHash), ...carried.flatMap((tx) => tx?.hashes ?? [])])]
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
      const dueAt = final ? null : core.clock.now() + untilNextLook(use.block, finalized)
      await commit(core, { puts: [{ table: 'receipts', row: { ...receipt, finalized: final, dueAt } }] })
      if (final) await rememberPaid(core, rail, receipt.payer)
    }
    return
  }
  if (isDead(signed, use, finalized)) return loseReceipt(core, receipt, attempt)
  if (attempt.phase !== 'CONFIRMED') return
  const again: AuthorizationRow = {
    ...carriedBy(rail, attempt, null),
    phase: 'BROADCAST',
    dueAt: core.clock.now() + core.config.leaseMs,
  }
  if (await commit(core, { puts: [{ table: 'authorizations', row: again }] }))
    await resolver.adopt([afterCommit(again)])
}
