import type { AuthorizationRow, Block, ChallengeRow, Put, ReceiptRow, Use } from '../ports.ts'
import { isDead, matchesTransfer } from '../rules/judge-attempt.ts'
import { nextState } from '../rules/state-machine.ts'
import { applyEvent, auditEntry, putChallenge } from './apply-event.ts'
import { confirmPayments } from './confirm.ts'
import { type Core, commit, getOne, stored } from './core.ts'
import { finalUses } from './final-uses.ts'
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
    rows.map((receipt, index) => {
      const attempt = attempts[index]
      if (!attempt) throw new Error(`receipt ${receipt.key} has no authorization`)
      const use = uses.get(`${attempt.auth.from}:${attempt.auth.nonce}`)
      return followReceipt(core, resolver, { receipt, attempt, use, finalized })
    }),
  )
}

/** As long as finality still lacks, by the chain's own clock; often enough to notice a reorganisation. */
function untilNextLook(block: Block, finalized: Block): number {
  const lackingMs = (block.timestamp - finalized.timestamp) * 1000
  return Math.min(60_000, Math.max(1_000, lackingMs))
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
  if (isDead(attempt, use, finalized)) return loseReceipt(core, followed)
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

/** The chain took the transfer back for good. What was not delivered was never paid; what was, is a loss. */
async function loseReceipt(core: Core, { receipt, attempt }: Followed): Promise<void> {
  const challenge = await getOne(core, 'challenges', receipt.challengeId)
  if (!challenge) throw new Error(`receipt ${receipt.key} names no stored challenge`)
  const refund = await getOne(core, 'refunds', receipt.key)
  const puts: Put[] = [
    { table: 'receipts', row: { ...receipt, lost: true, dueAt: null } },
    { table: 'authorizations', row: { ...attempt, phase: 'DEAD', dueAt: null } },
    ...(refund
      ? [{ table: 'refunds' as const, row: { ...refund, phase: 'VOID' as const, dueAt: null } }]
      : []),
  ]
  const { puts: more, audit } = lostEvent(core, challenge, receipt)
  if (await commit(core, { puts: [...puts, ...more], audit })) {
    core.alerts.raise(
      'receipt-lost',
      `the chain dropped ${receipt.value} of challenge ${challenge.key} for good`,
    )
  }
}

function lostEvent(core: Core, challenge: ChallengeRow, receipt: ReceiptRow) {
  const facts = {
    at: core.clock.now(),
    actor: 'gateway' as const,
    txHash: receipt.txHash,
    details: { value: receipt.value },
  }
  if (challenge.receipt !== receipt.key || nextState(challenge.state, 'receipt-lost') === undefined) {
    return { puts: [], audit: [auditEntry(challenge, 'receipt-lost', facts)] }
  }
  const lost = applyEvent(challenge, 'receipt-lost', facts, { leaseUntil: null, dueAt: null })
  return { puts: [putChallenge(lost.row)], audit: lost.audit }
}
