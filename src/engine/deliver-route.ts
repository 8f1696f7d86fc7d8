import type { ChallengeRow, RouteCall } from '../ports.ts'
import type { RefundNotice } from '../protocol/access.ts'
import { applyEvent, putChallenge } from './apply-event.ts'
import { type Core, commit, getOne, orderOf, paymentOf, settledReceipt, stored } from './core.ts'
import { settleHolds } from './holds.ts'
import type { Outcome } from './outcome.ts'
import { countUndelivered } from './refund-cap.ts'
import { refunded, settlementPending } from './refusals.ts'
import { pruneAt } from './retention.ts'

const MAX_RACES = 8

/** Who hands a paid route's result over: our call of the backend, or the seller's own handler. */
export type Handover = { kind: 'call'; call: RouteCall } | { kind: 'embedded' }

/**
 * Delivers a paid route call, inside the request that carries the payment and nowhere else. Undefined: another
 * request holds the lease or was first; look again.
 */
export async function deliverRoute(
  core: Core,
  challenge: ChallengeRow,
  handover: Handover,
): Promise<Outcome | undefined> {
  const leased = await leaseRoute(core, challenge)
  return leased && deliverLeasedRoute(core, leased, handover)
}

/** The same under a lease that is stored already, and is this request's alone. */
export async function deliverLeasedRoute(
  core: Core,
  leased: ChallengeRow,
  handover: Handover,
): Promise<Outcome | undefined> {
  // A store that was slow to answer may have used it up: somebody else may be calling by now.
  if (core.clock.now() >= (leased.leaseUntil ?? 0)) return undefined
  const order = orderOf(leased)
  const receipt = settledReceipt(leased)
  const notice = refundNotice(core, leased)
  if (handover.kind === 'embedded') {
    return { kind: 'paid', payment: paymentOf(core, order), receipt, lease: leased.deliveryTries, notice }
  }
  if (!core.backend) throw new Error(`route ${leased.itemId} has no backend`)
  const called = await core.backend.call(order, handover.call)
  const result: Finished = called.ok ? { ok: true, sealed: called.sealed } : called
  if (!(await finishRoute(core, leased.key, leased.deliveryTries, result, leased))) return undefined
  const response = called.ok ? called.response : { ...called.response, ...notice }
  return { kind: 'resource', response, ...(called.raw && { raw: called.raw }), receipt, cached: false }
}

async function leaseRoute(core: Core, challenge: ChallengeRow): Promise<ChallengeRow | undefined> {
  const now = core.clock.now()
  if (challenge.leaseUntil !== null && challenge.leaseUntil > now) return undefined
  const leased = {
    ...challenge,
    ...routeLease(core, challenge, now),
    deliveryTries: challenge.deliveryTries + 1,
  }
  // Soft: should the power fail, the call under this lease ends too.
  return (await commit(core, { puts: [putChallenge(leased)], soft: true })) ? stored(leased) : undefined
}

type Payment = Pick<ChallengeRow, 'paidAt'>

export function refundableAt(core: Core, { paidAt }: Payment): number {
  return (paidAt ?? 0) + core.config.refundMinAgeMs
}

function refundNotice(core: Core, challenge: ChallengeRow): RefundNotice {
  return {
    refund: { state: 'SCHEDULED', when: new Date(refundableAt(core, challenge)).toISOString() },
    statusUrl: `${core.config.baseUrl}/x402/challenges/${encodeURIComponent(challenge.key)}`,
  }
}

/** Until then only its holder delivers, and nobody refunds. */
export function routeLease(core: Core, payment: Payment, now: number) {
  const leaseUntil = now + core.config.deliveryLeaseMs
  return { leaseUntil, dueAt: Math.max(leaseUntil, refundableAt(core, payment)) }
}

/** Embedded routes: the handler is still at work. False: the lease is gone, and asking again is of no use. */
export async function renewLease(core: Core, challengeId: string, lease: number): Promise<boolean> {
  for (let race = 0; race < MAX_RACES; race++) {
    const challenge = await getOne(core, 'challenges', challengeId)
    if (challenge?.state !== 'PAID' || challenge.deliveryTries !== lease) return false
    const puts = [putChallenge({ ...challenge, ...routeLease(core, challenge, core.clock.now()) })]
    if (await commit(core, { puts, soft: true })) return true
  }
  return true
}

/**
 * Embedded routes: the handler has answered or failed. Rejects where its answer must not go out: it took so long that
 * the payment went back meanwhile. A call that another try delivered meanwhile is delivered all the same.
 */
export async function finishEmbedded(
  core: Core,
  challengeId: string,
  lease: number,
  result: { ok: true } | { ok: false; reason: string },
): Promise<void> {
  if ((await finishRoute(core, challengeId, lease, result)) || !result.ok) return
  const challenge = await getOne(core, 'challenges', challengeId)
  if (challenge?.state === 'DELIVERED') return
  throw challenge?.state.startsWith('REFUND') ? refunded(challenge) : settlementPending({ key: challengeId })
}

export type Finished = { ok: true; sealed?: string } | { ok: false; reason: string }

/**
 * DELIVERED, or still PAID and refunded when its time has come. False: the lease went to somebody else. `known` is the
 * challenge as it was last seen; where that is out of date the step is refused and it is read again.
 */
export async function finishRoute(
  core: Core,
  challengeId: string,
  tries: number,
  result: Finished,
  known?: ChallengeRow,
): Promise<boolean> {
  for (let race = 0; race < MAX_RACES; race++) {
    const challenge = (race === 0 && known) || (await getOne(core, 'challenges', challengeId))
    if (challenge?.state !== 'PAID' || challenge.deliveryTries !== tries) return false
    const facts = { at: core.clock.now(), actor: 'gateway' as const, txHash: challenge.txHash ?? undefined }
    if (result.ok) {
      const { undelivered, ...counted } = challenge
      const { row, audit } = applyEvent(counted, 'delivered', facts, {
        leaseUntil: null,
        dueAt: pruneAt(core, challenge.paidAt),
        result: result.sealed ?? null,
      })
      if (!(await commit(core, { puts: [putChallenge(row)], audit }))) continue
      if (undelivered !== undefined) void settleHolds(core, [undelivered], 'returned')
      return true
    }
    const reason = result.reason.slice(0, 300)
    const counted = await countUndelivered(core, challenge)
    const { row, audit } = applyEvent(
      challenge,
      'backend-failed',
      { ...facts, details: { reason } },
      { leaseUntil: null, dueAt: refundableAt(core, challenge), failure: reason, ...counted.change },
    )
    if (await commit(core, { puts: [putChallenge(row), ...counted.puts], audit })) return true
  }
  return false
}
