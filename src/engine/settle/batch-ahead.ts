import type { AuthorizationRow, Batch, Sendable } from '../../ports.ts'
import type { Core } from '../core.ts'
import type { OpenRail } from '../rails.ts'

/**
 * Makes batches of all attempts, on the assumption that the look refuses none. Undefined: that failed, and batches
 * are made after the look.
 */
export async function batchAhead(
  core: Core,
  rail: OpenRail,
  attempts: readonly AuthorizationRow[],
): Promise<Batch[] | undefined> {
  // The look's requests leave first, so that preparing batches does not delay them.
  await core.clock.requestsSent()
  return rail.settlement.makeBatches(attempts.map(sendableOf)).catch(() => undefined)
}

export function dropAll(batches: readonly Batch[] = []): void {
  for (const batch of batches) batch.drop()
}

export function sendableOf({ key, auth: signed, batchLimit }: AuthorizationRow): Sendable {
  return { member: { kind: 'payment', key }, signed, alone: false, batchLimit }
}
