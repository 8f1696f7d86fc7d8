import type { AuthorizationRow, Block, ChallengeRow, CreditRow, Put, ReceiptRow } from '../../ports.ts'
import { nextState } from '../../rules/state-machine.ts'
import { applyEvent, auditEntry, putChallenge } from '../apply-event.ts'
import { settleHolds } from '../budgets/holds.ts'
import { type Core, commit, getOne } from '../core.ts'
import { lostStream } from '../metered/hold-again.ts'
import { writeOffStream } from '../metered/stream-call.ts'
import { otherMoney } from '../refund/refund-rows.ts'

/** The time until the block should be final, by the chain's own clock. */
export const lackingMs = (block: Block, finalized: Block): number =>
  (block.timestamp - finalized.timestamp) * 1000

/** As long as that, but short enough to notice a reorganisation. */
export const untilNextLook = (lacking: number): number =>
  Math.ceil(Math.min(60_000, Math.max(1_000, lacking)))

/**
 * A reorganisation removed the transfer for good. If nothing was delivered, the challenge counts as never paid;
 * otherwise the sale is a loss.
 */
export async function loseReceipt(
  core: Core,
  receipt: ReceiptRow,
  attempt?: AuthorizationRow,
): Promise<void> {
  const challenge = await getOne(core, 'challenges', receipt.challengeId)
  if (!challenge) throw new Error(`receipt ${receipt.key} names no stored challenge`)
  const refund = await getOne(core, 'refunds', receipt.key)
  const puts: Put[] = [
    { table: 'receipts', row: { ...receipt, lost: true, dueAt: null } },
    ...(attempt
      ? [{ table: 'authorizations' as const, row: { ...attempt, phase: 'DEAD' as const, dueAt: null } }]
      : []),
    ...(refund
      ? [{ table: 'refunds' as const, row: { ...refund, phase: 'VOID' as const, dueAt: null } }]
      : []),
  ]
  const credits = receipt.role === 'pays' ? await getOne(core, 'credits', challenge.key) : undefined
  if (credits) puts.push({ table: 'credits', row: { ...credits, ended: 'lost' } })
  const rail = core.rails.of(receipt)
  if (attempt) puts.push(...lostStream(core, rail, attempt, challenge))
  const { puts: more, audit } = lostEvent(core, challenge, receipt, credits)
  if (await commit(core, { puts: [...puts, ...more], audit })) {
    const spent = credits ? `; of its ${credits.granted} credits ${credits.spent} were spent` : ''
    rail.alerts.raise(
      'receipt-lost',
      `the chain dropped ${receipt.value} of challenge ${challenge.key} for good${spent}`,
    )
    if (attempt?.exposure) await settleHolds(core, [attempt.exposure], 'returned')
    if (attempt) await writeOffStream(core, rail, attempt)
  }
}

function lostEvent(core: Core, challenge: ChallengeRow, receipt: ReceiptRow, credits: CreditRow | undefined) {
  const isOther = challenge.receipt !== receipt.key
  const facts = {
    at: core.clock.now(),
    actor: 'gateway' as const,
    txHash: receipt.txHash,
    details: {
      value: receipt.value,
      ...(isOther && otherMoney(receipt.rail, receipt.payer)),
      payment: receipt.key,
      ...(credits && { credits: credits.granted, creditsSpent: credits.spent }),
    },
  }
  if (isOther || nextState(challenge.state, 'receipt-lost') === undefined) {
    return { puts: [], audit: [auditEntry(challenge, 'receipt-lost', facts)] }
  }
  const lost = applyEvent(challenge, 'receipt-lost', facts, { leaseUntil: null, dueAt: null })
  return { puts: [putChallenge(lost.row)], audit: lost.audit }
}
