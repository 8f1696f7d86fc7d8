import type { AuditEntry, ChallengeRow, Put } from '../ports.ts'
import { type ChallengeEvent, nextState } from '../rules/state-machine.ts'

export interface EventFacts {
  at: number
  actor: AuditEntry['actor']
  txHash?: string
  details?: AuditEntry['details']
}

/** A change of a challenge that has not been committed yet, with the log lines that go into the same step. */
export interface Change {
  row: ChallengeRow
  audit: AuditEntry[]
}

/**
 * The only writer of `state`. It answers the new row and its audit entry as data; the caller commits both in one
 * step with whatever else must be true at that moment. Illegal events are bugs of ours, hence the throw.
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

/** A log line for something that happened to a challenge without moving its state. */
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

/** The first line in the log of a challenge that somebody pays for. Before that there is none: unpaid challenges must not fill the store. */
export function claimedEntry(
  challengeId: string,
  { requestId, at, openedAt }: { requestId: string; at: number; openedAt: number },
  payer: string,
): AuditEntry {
  const row = { key: challengeId, requestId, state: 'PENDING' as const }
  return auditEntry(row, 'payment-claimed', { at, actor: 'buyer', details: { payer, openedAt } })
}

export function putChallenge(row: ChallengeRow): Put {
  return { table: 'challenges', row }
}
