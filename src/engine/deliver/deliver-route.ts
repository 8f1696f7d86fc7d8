import { GatewayError } from '../../errors.ts'
import type { ChallengeRow, RouteCall, SignedReceipt } from '../../ports.ts'
import type { RefundNotice } from '../../protocol/access.ts'
import { applyEvent, putChallenge } from '../apply-event.ts'
import { settleHolds } from '../budgets/holds.ts'
import { admitUnclaimed, countUndelivered } from '../budgets/refund-cap.ts'
import {
  afterCommit,
  type Core,
  commit,
  getOne,
  MAX_RACES,
  orderOf,
  paymentOf,
  settledPayment,
} from '../core.ts'
import type { HandlerResult, Intent, Outcome } from '../outcome.ts'
import { callLater, refunded, settlementPending } from '../refusals.ts'
import { deliveredChange } from './delivered.ts'
import { signReceipt } from './sign-receipt.ts'

/** What answers a paid call: the backend, which we call, or the seller's own handler, by `call.answer` if it is metered. */
export type RouteResponder = { kind: 'backend'; call: RouteCall } | { kind: 'embedded'; call?: RouteCall }

/** A route without a call is refused as RESOURCE_REQUIRED before any delivery. */
export function responderOf({ call, embedded }: Intent): RouteResponder {
  if (!call) return { kind: 'embedded' }
  return { kind: embedded ? 'embedded' : 'backend', call }
}

/**
 * Delivers a paid route call, only inside a request that carries the payment. Undefined: another request holds the
 * lease or was first, so look again.
 */
export async function deliverRoute(
  core: Core,
  challenge: ChallengeRow,
  responder: RouteResponder,
): Promise<Outcome | undefined> {
  if (responder.kind === 'backend' && !core.backend) {
    return goesBack(core, challenge, 'The payment is confirmed, and nobody answers this call any more.')
  }
  const now = core.clock.now()
  if (challenge.leaseUntil !== null && challenge.leaseUntil > now) return undefined
  const admission = await admitUnclaimed(core, challenge)
  if (admission.kind === 'later') return { kind: 'failed', error: callLater(challenge) }
  if (admission.kind === 'refused') {
    const message = `${admission.told} No more are made for this payer until tomorrow (UTC): this payment is confirmed, and its call is not made.`
    return goesBack(core, challenge, message)
  }
  const { undelivered } = admission
  const leased = await leaseRoute(core, { ...challenge, ...(undelivered !== undefined && { undelivered }) })
  if (leased) return deliverLeasedRoute(core, leased, responder)
  if (undelivered !== undefined) await settleHolds(core, [undelivered], 'returned')
  return undefined
}

/** The same under a lease that is already stored and belongs to this request. */
export async function deliverLeasedRoute(
  core: Core,
  leased: ChallengeRow,
  responder: RouteResponder,
): Promise<Outcome | undefined> {
  // If the store was slow, the lease may be over: another request may be making the call.
  if (core.clock.now() >= (leased.leaseUntil ?? 0)) return undefined
  const order = orderOf(leased)
  const notice = refundNotice(core, leased)
  if (responder.kind === 'embedded') {
    const settled = settledPayment(leased)
    return {
      kind: 'paid',
      payment: paymentOf(core, order),
      settled,
      lease: leased.deliveryTries,
      notice,
      ...(core.receipts && { signReceipt: () => signReceipt(core, leased, core.clock.now()) }),
    }
  }
  if (!core.backend) throw new Error(`route ${leased.itemId} has no backend`)
  const called = await core.backend.call(order, responder.call)
  const result: Finished = called.ok ? { ok: true, sealed: called.sealed } : called
  const finished = await finishRoute(core, leased.key, leased.deliveryTries, result, leased)
  if (!finished) return undefined
  const settled = settledPayment(finished)
  const response = called.ok ? called.response : { ...called.response, ...notice }
  return { kind: 'resource', response, ...(called.raw && { raw: called.raw }), settled, cached: false }
}

/** The call is not made: nobody answers it, or its payer has had too many for nothing. The jobs pay it back. */
function goesBack(core: Core, challenge: ChallengeRow, why: string): Outcome {
  const { refund } = refundNotice(core, challenge)
  const message = `${why} The payment goes back after ${refund.when}, once its block is final.`
  const { key: challengeId, txHash } = challenge
  const error = new GatewayError('DELIVERY_FAILED', message, {
    challengeId,
    ...(txHash !== null && { txHash }),
    refund,
  })
  return { kind: 'failed', error, settled: settledPayment(challenge) }
}

async function leaseRoute(core: Core, challenge: ChallengeRow): Promise<ChallengeRow | undefined> {
  const leased = {
    ...challenge,
    ...routeLease(core, challenge, core.clock.now()),
    deliveryTries: challenge.deliveryTries + 1,
  }
  // Deferred: a power cut ends the call under this lease as well.
  return (await commit(core, { puts: [putChallenge(leased)], durability: 'deferred' }))
    ? afterCommit(leased)
    : undefined
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

/** While it lasts only its holder delivers, and nobody refunds. */
export function routeLease(core: Core, payment: Payment, now: number) {
  const leaseUntil = now + core.config.deliveryLeaseMs
  return { leaseUntil, dueAt: Math.max(leaseUntil, refundableAt(core, payment)) }
}

/** Embedded routes: the handler is still running. False: the lease is lost, and calling again is useless. */
export async function renewLease(core: Core, challengeId: string, lease: number): Promise<boolean> {
  for (let race = 0; race < MAX_RACES; race++) {
    const challenge = await getOne(core, 'challenges', challengeId)
    if (challenge?.state !== 'PAID' || challenge.deliveryTries !== lease) return false
    const puts = [putChallenge({ ...challenge, ...routeLease(core, challenge, core.clock.now()) })]
    if (await commit(core, { puts, durability: 'deferred' })) return true
  }
  return true
}

/**
 * Embedded routes: the handler has answered or failed. Rejects if its answer must not be sent because the payment was
 * refunded in the meantime. If another try delivered the call first, this answer may still be sent.
 */
export async function finishEmbedded(
  core: Core,
  challengeId: string,
  lease: number,
  result: HandlerResult,
): Promise<string | undefined> {
  const finished = await finishRoute(core, challengeId, lease, result)
  if (finished || !result.ok) return finished?.signedReceipt
  const challenge = await getOne(core, 'challenges', challengeId)
  if (challenge?.state === 'DELIVERED') return challenge.signedReceipt
  throw challenge?.state.startsWith('REFUND') ? refunded(challenge) : settlementPending({ key: challengeId })
}

export type Finished =
  | { ok: true; sealed?: string; receipt?: SignedReceipt | undefined }
  | { ok: false; reason: string }

/**
 * Stores DELIVERED, or a failure that leaves PAID until the refund is due, and returns the row. Undefined: another request holds the lease
 * now. `known` is the challenge as it was last read; if that is out of date, the step is refused and the challenge is
 * read again.
 */
export async function finishRoute(
  core: Core,
  challengeId: string,
  tries: number,
  result: Finished,
  known?: ChallengeRow,
): Promise<ChallengeRow | undefined> {
  for (let race = 0; race < MAX_RACES; race++) {
    const challenge = (race === 0 && known) || (await getOne(core, 'challenges', challengeId))
    if (challenge?.state !== 'PAID' || challenge.deliveryTries !== tries) return undefined
    const facts = { at: core.clock.now(), actor: 'gateway' as const, txHash: challenge.txHash ?? undefined }
    if (result.ok) {
      const { undelivered, ...counted } = challenge
      const delivery = { result: result.sealed ?? null, receipt: result.receipt }
      const { row, puts, audit } = deliveredChange(core, counted, facts, delivery)
      if (!(await commit(core, { puts, audit }))) continue
      if (undelivered !== undefined) void settleHolds(core, [undelivered], 'returned')
      return row
    }
    const reason = result.reason.slice(0, 300)
    const counted = await countUndelivered(core, challenge)
    const { row, audit } = applyEvent(
      challenge,
      'backend-failed',
      { ...facts, details: { reason } },
      { leaseUntil: null, dueAt: refundableAt(core, challenge), failure: reason, ...counted.change },
    )
    if (await commit(core, { puts: [putChallenge(row), ...counted.puts], audit })) return row
  }
  return undefined
}
