import type { AuditEntry, ChallengeRow, Clock } from '../ports.ts'

/**
 * What ends unpaid is logged at its end, in one step with it, and so costs nothing before. The log is never shortened, and
 * whoever names requestIds can make challenges end unpaid for nothing: so one instance writes so many of them a day (UTC).
 * Whatever somebody paid for is always logged.
 */
export const UNPAID_LOGGED_PER_DAY = 10_000
const DAY_MS = 24 * 3_600_000

export interface UnpaidLog {
  /** True: one more may be written today. */
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

/** Log lines of an ending: behind those of its payments, or, where none was ever sent, behind the line that it was created. */
export function endingEntries(
  { unpaidLog, clock }: { unpaidLog: UnpaidLog; clock: Pick<Clock, 'now'> },
  challenge: ChallengeRow,
  ending: AuditEntry[],
): AuditEntry[] {
  if (challenge.claimed || ending.length === 0) return ending
  // What the operator does is always written down.
  const byOperator = ending.some(({ actor }) => actor === 'operator')
  if (!unpaidLog.take() && !byOperator) return []
  const marked = ending.map((entry) => ({ ...entry, details: { ...entry.details, unpaid: true } }))
  return [createdEntry(challenge, clock.now()), ...(byOperator ? ending : marked)]
}

function createdEntry({ key, requestId, createdAt, transport }: ChallengeRow, loggedAt: number): AuditEntry {
  return {
    at: createdAt,
    challengeId: key,
    requestId,
    event: 'created',
    fromState: null,
    toState: 'PENDING',
    actor: 'buyer',
    details: { transport, loggedAt },
  }
}
