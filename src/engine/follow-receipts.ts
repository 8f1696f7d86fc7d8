import type { AuthorizationRow, Block, ReceiptRow, Use } from '../ports.ts'
import { plainOrdinalOf } from '../rules/authorization-key.ts'
import { isDead, matchesTransfer } from '../rules/judge-attempt.ts'
import { confirmPayments } from './confirm.ts'
import { type Core, commit, stored } from './core.ts'
import { finalUses } from './final-uses.ts'
import { followTransfer } from './follow-transfer.ts'
import { loseReceipt, untilNextLook } from './lose-receipt.ts'
import type { Resolver } from './resolve.ts'

/**
 * Follows receipts until their block is finalized. One that a reorganisation moved is rewritten, one that it dropped
 * is sent again while it is valid, and one that is gone for good is flagged and alerted.
 */
export async function followReceipts(
  core: Core,
  resolver: Resolver,
  rows: readonly ReceiptRow[],
): Promise<void> {
  const plain = rows.filter(({ key }) => plainOrdinalOf(key) !== undefined)
  await Promise.all(plain.map((receipt) => followTransfer(core, receipt)))
  await followAuthorized(
    core,
    resolver,
    rows.filter((row) => !plain.includes(row)),
  )
}

async function followAuthorized(core: Core, resolver: Resolver, rows: readonly ReceiptRow[]): Promise<void> {
  if (rows.length === 0) return
  const attempts = await core.store.get(
    'authorizations',
    rows.map((row) => row.key),
  )
  const keys = attempts.flatMap((attempt) =>
    attempt ? [{ payer: attempt.auth.from, nonce: attempt.auth.nonce }] : [],
  )
  const { found, finalized } = await finalUses(core, keys, Math.min(...rows.map((row) => row.fromHeight)))
  const uses = new Map(found.map((use) => [`${use.key.payer}:${use.key.nonce}`, use]))
  await Promise.all(
    rows.map(async (receipt, index) => {
      const attempt = attempts[index]
      if (!attempt) throw new Error(`receipt ${receipt.key} has no authorization`)
      const use = uses.get(`${attempt.auth.from}:${attempt.auth.nonce}`)
      return followReceipt(core, resolver, { receipt, attempt, use, finalized })
    }),
  )
}

interface Followed {
  receipt: ReceiptRow
  attempt: AuthorizationRow
  use: Use | undefined
  finalized: Block
}

async function followReceipt(core: Core, resolver: Resolver, followed: Followed): Promise<void> {
  const { receipt, attempt, use, finalized } = followed
  if (use?.kind === 'transfer' && matchesTransfer(attempt.auth, use)) {
    const moved = use.txHash !== receipt.txHash || use.block.hash !== receipt.blockHash
    if (moved) await confirmPayments(core, [{ attempt, use }])
    else {
      const final = use.block.number <= finalized.number
      const dueAt = final ? null : core.clock.now() + untilNextLook(use.block, finalized)
      await commit(core, { puts: [{ table: 'receipts', row: { ...receipt, finalized: final, dueAt } }] })
    }
    return
  }
  if (isDead(attempt, use, finalized)) return loseReceipt(core, receipt, attempt)
  if (attempt.phase !== 'CONFIRMED') return
  const again: AuthorizationRow = {
    ...attempt,
    phase: 'BROADCAST',
    walletTx: null,
    dueAt: core.clock.now() + core.config.leaseMs,
  }
  if (await commit(core, { puts: [{ table: 'authorizations', row: again }] }))
    await resolver.adopt([stored(again)])
}
