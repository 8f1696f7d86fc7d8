import type { OutboxRow } from '../../ports.ts'
import { type Core, getOne, orderOf, paymentOf } from '../core.ts'

/** Stored in the same step as the event, so that the seller's hook runs at least once even if this process dies. */
export function outboxRow(challengeId: string, event: OutboxRow['event'], dueAt: number): OutboxRow {
  return { key: `${event}:${challengeId}`, version: 0, ref: challengeId, dueAt, challengeId, event }
}

/** Runs the seller's hook. A failure never affects the buyer; the jobs try again. */
export async function notifySeller(core: Core, row: OutboxRow): Promise<void> {
  // Events of a newer version are left to instances of that version.
  if (row.event !== 'payment-received' && row.event !== 'refunded') return
  try {
    const challenge = await getOne(core, 'challenges', row.challengeId)
    if (challenge) {
      const payment = paymentOf(core, orderOf(challenge))
      if (row.event === 'payment-received') await core.hooks.onPaymentReceived?.(payment)
      else await core.hooks.onRefund?.({ ...payment, refundTxHash: challenge.refundTxHash ?? '' })
    }
    await core.store.commit({ puts: [], removes: [{ table: 'outbox', key: row.key, version: row.version }] })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'unknown'
    core.alerts.raise('hook-failed', `${row.event} hook for challenge ${row.challengeId}: ${why}`)
  }
}
