import type { AuditEntry, ChallengeRow, ClaimFacts, Put } from '../ports.ts'
import { type ChallengeEvent, nextState } from '../rules/state-machine.ts'

export interface EventFacts {
  at: number
  actor: AuditEntry['actor']
  txHash?: string
  details?: AuditEntry['details']
}

/** A change of a challenge that is not committed yet, with the log entries that belong to the same step. */
export interface Change {
  row: ChallengeRow
  audit: AuditEntry[]
}

/**
 * The only writer of `state`. It returns the new row and its audit entry; the caller commits both in one step,
 * together with every other row that must change at the same time. An event that the state machine does not allow is
 * a bug of ours and throws.
 */
export function applyEvent(
  before: Change | ChallengeRow,
  event: ChallengeEvent,
  facts: EventFacts,
  change: Partial<Omit<ChallengeRow, 'state' | 'version' | 'key'>> = {},
): Change {
  const { row, audit } = 'row' in before ? before : { row: before, audit: [] }
  const state = nextState(row.state, event)
  if (state === undefined)
    throw new Error(`${event} cannot happen to challenge ${row.key} in state ${row.state}`)
  return {
    row: { ...row, ...change, state },
    audit: [...audit, auditEntry(row, event, facts, state)],
  }
}

/** A log entry for something that happened to a challenge without changing its state. */
export function auditEntry(
  row: Pick<ChallengeRow, 'key' | 'requestId' | 'state'>,
  event: string,
  facts: EventFacts,
  toState: ChallengeRow['state'] = row.state,
): AuditEntry {
  return {
    at: facts.at,
    challengeId: row.key,
    requestId: row.requestId,
    event,
    fromState: row.state,
    toState,
    actor: facts.actor,
    ...(facts.txHash !== undefined && { txHash: facts.txHash }),
    ...(facts.details !== undefined && { details: facts.details }),
  }
}

/**
 * The first log entry of a challenge, written for its first payment. An unpaid challenge has none, so that unpaid
 * challenges cannot fill the store.
 */
export function claimedEntry(
  challengeId: string,
  { requestId, at, ...details }: ClaimFacts,
  payer: string,
  /** A call may take long, and a payment may wait for a chain that cannot be reached. */
  loggedAt: number,
): AuditEntry {
  const row = { key: challengeId, requestId, state: 'PENDING' as const }
  return auditEntry(row, 'payment-claimed', { at, actor: 'buyer', details: { payer, ...details, loggedAt } })
}

export function putChallenge(row: ChallengeRow): Put {
  return { table: 'challenges', row }
}
