import type { AuditEntry, ChallengeRow, Clock } from '../../ports.ts'
import { DAY_MS } from '../../protocol/duration.ts'

/**
 * A challenge that ends unpaid is logged only when it ends, in the same step. Buyers can make challenges end unpaid
 * at no cost by naming requestIds, and the log is never shortened, so one instance logs at most this many a day
 * (UTC). Challenges with a payment are always logged.
 */
export const UNPAID_LOGGED_PER_DAY = 10_000

export interface UnpaidLog {
  /** True: one more may be logged today. */
  take(): boolean
}

export function createUnpaidLog(clock: Pick<Clock, 'now'>, perDay = UNPAID_LOGGED_PER_DAY): UnpaidLog {
  let day = Number.NaN
  let left = 0
  return {
    take() {
      const today = Math.floor(clock.now() / DAY_MS)
      if (today !== day) {
        day = today
        left = perDay
      }
      left -= 1
      return left >= 0
    },
  }
}

/** Log entries of a challenge's end. If no payment was ever sent, the entry of its creation is added before them. */
export function endingEntries(
  { unpaidLog, clock }: { unpaidLog: UnpaidLog; clock: Pick<Clock, 'now'> },
  challenge: ChallengeRow,
  ending: AuditEntry[],
): AuditEntry[] {
  if (challenge.claimed || ending.length === 0) return ending
  // Actions of the operator are always logged.
  const byOperator = ending.some(({ actor }) => actor === 'operator')
  if (!unpaidLog.take() && !byOperator) return []
  const marked = ending.map((entry) => ({ ...entry, details: { ...entry.details, unpaid: true } }))
  return [createdEntry(challenge, clock.now()), ...(byOperator ? ending : marked)]
}

function createdEntry(challenge: ChallengeRow, loggedAt: number): AuditEntry {
  const { key, requestId, createdAt, transport, clientAgentId } = challenge
  return {
    at: createdAt,
    challengeId: key,
    requestId,
    event: 'created',
    fromState: null,
    toState: 'PENDING',
    actor: 'buyer',
    details: { transport, loggedAt, ...(clientAgentId !== null && { clientAgentId }) },
  }
}
