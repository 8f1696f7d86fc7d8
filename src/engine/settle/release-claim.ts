import type { GatewayError } from '../../errors.ts'
import type { AuthorizationRow, ChallengeRow } from '../../ports.ts'
import { putChallenge } from '../apply-event.ts'
import { settleHolds } from '../budgets/holds.ts'
import { type Core, commit } from '../core.ts'
import { CHAIN_UNREADABLE } from '../rail-standing.ts'
import { cannotSettle } from '../refusals.ts'
import { withRefused } from './refused-payments.ts'

/** Longer than any process can hold an old version of the claim, even with a clock that is ten minutes off. */
const RELEASED_KEPT_MS = 30 * 60_000

/** The result of trying to send a claim. */
export type ClaimOutcome =
  | { kind: 'broadcast' }
  /**
   * Nothing was sent, and the claim is released. `later`: it may be claimed again once others in flight are decided.
   */
  | { kind: 'released'; error: GatewayError; later?: boolean }
  /** A metered call was answered, but cannot be charged now: its answer is kept back. */
  | { kind: 'unpaid'; error: GatewayError }
  /** A transaction that the store lost may have settled it: that is being searched for. */
  | { kind: 'searched' }
  /** Another process took the claim over. */
  | { kind: 'taken' }

/** Nothing was sent: the claims are released, and the error asks the buyers to send the same payload again. */
export async function releaseAll(
  core: Core,
  rows: Iterable<AuthorizationRow>,
  outcomes: Map<string, ClaimOutcome>,
): Promise<void> {
  await Promise.all(
    [...rows].map((row) => release(core, row, cannotSettle(CHAIN_UNREADABLE, row.challengeId), outcomes)),
  )
}

/** Releases a claim that was never sent. A claim that may have been sent stays: only the chain can decide it. */
export async function release(
  core: Core,
  attempt: AuthorizationRow,
  error: GatewayError,
  outcomes: Map<string, ClaimOutcome>,
  later = false,
  /** Metered calls: `spent` if the backend was called for nothing. */
  undeliveredAs: 'returned' | 'spent' = 'returned',
): Promise<void> {
  if (attempt.phase !== 'CLAIMED') return
  const [challenge] = await core.store.get('challenges', [attempt.challengeId])
  if (!challenge) return
  const isTold = error.code === 'PAYMENT_FAILED' || error.code === 'CALL_FAILED'
  const reason = isTold ? error.message : null
  const refused = { key: attempt.key, payer: attempt.payer, error }
  const noted = reason === null ? challenge : withRefused(challenge, refused)
  const dueAt = core.clock.now() + RELEASED_KEPT_MS
  const { gasHolds = [], streamed = [], undelivered, exposure, ...rest } = attempt
  const released: AuthorizationRow = { ...rest, phase: 'RELEASED', dueAt, reason }
  const applied = await commit(core, {
    puts: [
      putChallenge({ ...withoutLive(noted, attempt.key), claimed: await wasSent(core, challenge) }),
      { table: 'authorizations', row: released },
    ],
  })
  outcomes.set(attempt.key, applied ? { kind: 'released', error, later } : { kind: 'taken' })
  if (!applied) return
  await settleHolds(core, [...gasHolds, ...streamed, ...(exposure ? [exposure] : [])], 'returned')
  await settleHolds(core, undelivered ? [undelivered] : [], undeliveredAs)
}

/** A challenge for which nothing was ever sent may be deleted after it expired, however many payments were tried. */
async function wasSent(core: Core, challenge: ChallengeRow): Promise<boolean> {
  const attempts = await core.store.list('authorizations', challenge.key)
  return attempts.some(({ phase }) => phase !== 'CLAIMED' && phase !== 'RELEASED')
}

/** The challenge without this live attempt, so that it can be paid again or expire. */
export function withoutLive(challenge: ChallengeRow, authKey: string): ChallengeRow {
  if (challenge.liveAuth !== authKey) return challenge
  const { undelivered: _, ...rest } = challenge
  return {
    ...rest,
    liveAuth: null,
    dueAt: challenge.state === 'PENDING' ? challenge.expiresAt : challenge.dueAt,
  }
}
