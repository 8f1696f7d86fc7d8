import type { GatewayError } from '../errors.ts'
import type { AuthorizationRow, ChallengeRow } from '../ports.ts'
import { putChallenge } from './apply-event.ts'
import { type Core, commit } from './core.ts'
import { settleHolds } from './holds.ts'
import { cannotSettle } from './refusals.ts'
import { withRefused } from './refused-payments.ts'

/** Longer than any stale holder of the claim can live, also by a clock that is ten minutes off. */
const RELEASED_KEPT_MS = 30 * 60_000

/** What became of a claim before it was sent. */
export type Looked =
  | { kind: 'broadcast' }
  /** Nothing was sent and the claim is gone. `later`: it may be claimed again once others in flight are decided. */
  | { kind: 'released'; error: GatewayError; later?: boolean }
  /** Somebody else took the claim over. */
  | { kind: 'taken' }

/** Nothing was sent: the claims go back, and the buyers are told to send the same payload again. */
export async function releaseAll(
  core: Core,
  rows: Iterable<AuthorizationRow>,
  looked: Map<string, Looked>,
): Promise<void> {
  const error = cannotSettle('the chain cannot be reached')
  await Promise.all([...rows].map((row) => release(core, row, error, looked)))
}

/** Takes a claim back that was never sent. One that may have been sent stays: only the chain can end it. */
export async function release(
  core: Core,
  attempt: AuthorizationRow,
  error: GatewayError,
  looked: Map<string, Looked>,
  later = false,
): Promise<void> {
  if (attempt.phase !== 'CLAIMED') return
  const [challenge] = await core.store.get('challenges', [attempt.challengeId])
  if (!challenge) return
  const reason = error.code === 'PAYMENT_FAILED' ? error.message : null
  const refused = { key: attempt.key, payer: attempt.auth.from, error }
  const told = reason === null ? challenge : withRefused(challenge, refused)
  const dueAt = core.clock.now() + RELEASED_KEPT_MS
  const { gasHolds = [], undelivered, ...rest } = attempt
  const released: AuthorizationRow = { ...rest, phase: 'RELEASED', dueAt, reason }
  const applied = await commit(core, {
    puts: [
      putChallenge({ ...withoutLive(told, attempt.key), claimed: await wasSent(core, challenge) }),
      { table: 'authorizations', row: released },
    ],
  })
  looked.set(attempt.key, applied ? { kind: 'released', error, later } : { kind: 'taken' })
  if (applied) await settleHolds(core, undelivered ? [...gasHolds, undelivered] : gasHolds, 'returned')
}

/** A challenge for which nothing was ever sent may be forgotten once it has expired, however often it was tried. */
async function wasSent(core: Core, challenge: ChallengeRow): Promise<boolean> {
  const attempts = await core.store.list('authorizations', challenge.key)
  return attempts.some(({ phase }) => phase !== 'CLAIMED' && phase !== 'RELEASED')
}

/** The challenge may be paid again, or expire. */
export function withoutLive(challenge: ChallengeRow, authKey: string): ChallengeRow {
  if (challenge.liveAuth !== authKey) return challenge
  const { undelivered: _, ...rest } = challenge
  return {
    ...rest,
    liveAuth: null,
    dueAt: challenge.state === 'PENDING' ? challenge.expiresAt : challenge.dueAt,
  }
}
