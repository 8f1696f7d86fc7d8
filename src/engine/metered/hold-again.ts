import type { AuthorizationRow, ChallengeRow, Put } from '../../ports.ts'
import { holdExposure } from '../budgets/exposure.ts'
import { putHold, spentHold } from '../budgets/holds.ts'
import { type Core, getOne } from '../core.ts'
import type { OpenRail } from '../rails.ts'
import { streamHolds } from './stream-call.ts'

/**
 * A reorganisation undid the charge of a metered call. It is sent again, and until it is paid again it counts as before:
 * among what its payer may owe at once and, if the answer went out unpaid, among such answers. The holds are stored in
 * the same step as the row.
 */
export async function holdAgain(
  core: Core,
  rail: OpenRail,
  attempt: AuthorizationRow,
): Promise<{ row: AuthorizationRow; puts: Put[] }> {
  if (!rail.scheme.metered) return { row: attempt, puts: [] }
  const exposure = holdExposure(core, rail, attempt, attempt.value)
  const challenge = attempt.streamed && (await getOne(core, 'challenges', attempt.challengeId))
  const streamed = challenge ? streamHolds(core, rail, attempt, challenge.itemId) : []
  return {
    row: {
      ...attempt,
      exposure: exposure.key,
      ...(streamed.length > 0 && { streamed: streamed.map(({ key }) => key) }),
    },
    puts: [exposure, ...streamed].map(putHold),
  }
}

/** A reorganisation undid the charge for good: an answer that went out unpaid counts among the losses of today. */
export function lostStream(
  core: Core,
  rail: OpenRail,
  attempt: AuthorizationRow,
  { itemId }: ChallengeRow,
): Put[] {
  // A charge that is being sent again has its holds already.
  if (!attempt.streamed || attempt.phase !== 'CONFIRMED') return []
  return streamHolds(core, rail, attempt, itemId).map((hold) => putHold(spentHold(core, hold)))
}
