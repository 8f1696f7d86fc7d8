import { GatewayError } from '../../errors.ts'
import type { ChallengeRow } from '../../ports.ts'
import { isPaidBy, showsSalt } from '../../rules/ownership.ts'
import { networkOfRail } from '../../rules/rail-id.ts'
import { putChallenge } from '../apply-event.ts'
import type { Place } from '../budgets/payer-room.ts'
import {
  type Found,
  findChallenge,
  keyTold,
  type OpenChallenge,
  type PaidIntent,
  pendingFor,
} from '../challenge/find-challenge.ts'
import { expireChallenge } from '../challenge/open-challenge.ts'
import { type Core, commit, getOne } from '../core.ts'
import { type RouteResponder, responderOf } from '../deliver/deliver-route.ts'
import { failed, settledOutcome, waitForChange } from '../deliver/settled-outcome.ts'
import { callMetered } from '../metered/call-metered.ts'
import type { Outcome } from '../outcome.ts'
import type { OpenRail } from '../rails.ts'
import {
  alreadyRedeemed,
  cannotSettle,
  challengeClosed,
  gasTooDear,
  hasResult,
  MAX_TRIES,
  otherPayer,
  paidWithoutSalt,
  refunded,
  settlementPending,
  unpaidCall,
} from '../refusals.ts'
import type { Broadcaster } from './broadcast.ts'
import { type CheckedPayment, checkPayment } from './check-payment.ts'
import { claimPayment } from './claim-payment.ts'
import { lookAtChain, whyUnable } from './look-at-chain.ts'
import { withoutLive } from './release-claim.ts'

/** The most rounds of one request. Every further round means that another request made progress. */
const MAX_ROUNDS = 1000
/** While others are in flight, a payment tries again after a pause that doubles at most this often. */
const LONGEST_PAUSE = 3

/** The state of one request while it goes through the steps of {@link redeemPayment}. */
interface Redemption {
  intent: PaidIntent
  rail: OpenRail
  broadcaster: Broadcaster
  /** Set once its signature was checked. */
  verified: CheckedPayment | undefined
  /** Its payer's place among the payments under way; taken before the claim. */
  place: Place | undefined
  /** Another instance released its claim before it was sent, as one does whose clock is far ahead. */
  isOvertaken: boolean
  deadline: number
  responder: RouteResponder
}

/** Undefined: another request was first, so everything is read again. */
type Step = Promise<Outcome | undefined>

/**
 * Redeems a payment: finds its challenge, checks it, claims it (T1), has it broadcast (T1b), and waits for
 * confirmation (T2) and delivery (T3). Wherever it is interrupted, the jobs finish the stored rows with the same
 * functions.
 */
export async function redeemPayment(
  core: Core,
  broadcasterOf: (rail: OpenRail) => Broadcaster,
  intent: PaidIntent,
): Promise<Outcome> {
  const rail = core.rails.find(intent.payment.rail)
  if (!rail) throw new Error(`no rail has the id ${intent.payment.rail}`)
  const redemption: Redemption = {
    intent,
    rail,
    broadcaster: broadcasterOf(rail),
    verified: undefined,
    place: undefined,
    isOvertaken: false,
    deadline: core.clock.now() + core.config.settleWaitMs,
    responder: responderOf(intent),
  }
  try {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const found = await findChallenge(core, intent, round === 0)
      const outcome = await redeemFound(core, redemption, found, round)
      if (outcome) return outcome
    }
    const error = new GatewayError('INTERNAL_ERROR', 'Too many concurrent requests for this payment.')
    return failed(core, error)
  } finally {
    redemption.place?.leave()
  }
}

async function redeemFound(core: Core, redemption: Redemption, found: Found, round: number): Step {
  if (found.kind === 'failed') return failed(core, found.error)
  if (found.kind === 'bound') return answerBound(core, redemption, found)
  const { challenge } = found
  const checked = await checkPayment(core, redemption, found)
  if (checked === 'again') return undefined
  if ('kind' in checked) return checked
  redemption.verified = checked
  if (challenge.state !== 'PENDING') return releaseToPayer(core, redemption, challenge, checked)
  if (challenge.liveAuth !== null) return awaitRival(core, redemption, challenge, challenge.liveAuth)
  return settle(core, redemption, found, checked, round)
}

/** This payment was claimed before: a request that proves to come from its buyer gets the result. */
async function answerBound(
  core: Core,
  { intent, rail, deadline, responder }: Redemption,
  { attempt, challenge }: Extract<Found, { kind: 'bound' }>,
): Step {
  const { salt, signed } = intent.payment
  const isLive = ['CLAIMED', 'CHARGED', 'BROADCAST'].includes(attempt.phase)
  if (!showsSalt(attempt.saltHash, salt) || !rail.scheme.isSame(attempt.auth, signed)) {
    // An honest buyer may have lost the salt. "Already redeemed" would make it pay again while the first payment is
    // in flight.
    if (isLive) return failed(core, pendingFor(intent, attempt))
    const { state } = challenge
    if (attempt.saltHash === null && state !== 'PENDING') {
      if (hasResult(state)) return failed(core, paidWithoutSalt(challenge))
      return failed(core, state.startsWith('REFUND') ? refunded(challenge) : challengeClosed(challenge))
    }
    return failed(core, alreadyRedeemed({ ...challenge, key: keyTold(intent, attempt) }))
  }
  return settledOutcome(core, {
    challengeId: challenge.key,
    owner: { payer: attempt.payer, network: networkOfRail(attempt.rail), byKey: attempt.byKey },
    authKey: attempt.key,
    fresh: false,
    deadline,
    responder,
  })
}

/**
 * Another payment for this challenge is in flight, so this one is never sent. Both requests get the outcome of the
 * first.
 */
async function awaitRival(
  core: Core,
  { intent, deadline }: Redemption,
  challenge: ChallengeRow,
  liveAuth: string,
): Step {
  const rival = await getOne(core, 'authorizations', liveAuth)
  if (rival && (rival.challengeId !== challenge.key || rival.phase === 'DEAD')) {
    // An attempt ends in one step with its challenge. Only a store that lost commits still names one that can never
    // pay, or that another challenge has claimed; if this step is a conflict, the challenge has changed meanwhile.
    await commit(core, { puts: [putChallenge(withoutLive(challenge, liveAuth))] })
    return undefined
  }
  if (rival && rival.payer !== intent.payment.payer) return failed(core, otherPayer(challenge))
  if (core.clock.now() >= deadline) return failed(core, settlementPending(challenge))
  const subscription = core.signals.subscribe(challenge.key)
  await waitForChange(core, subscription, deadline).finally(subscription.close)
  return undefined
}

/** Claims the payment, has it sent, and waits for the outcome. */
async function settle(
  core: Core,
  redemption: Redemption,
  found: OpenChallenge,
  checked: CheckedPayment,
  round: number,
): Step {
  const { intent, rail, deadline, responder } = redemption
  const { challenge } = found
  const { payer } = intent.payment
  if (!found.released && (challenge.tries ?? 0) >= MAX_TRIES) {
    // Before the answer says so, like any other end: what lands later goes back, because the buyer starts again.
    if (!(await expireChallenge(core, challenge))) return undefined
    return failed(core, challengeClosed(challenge))
  }
  // Otherwise two instances would take the claim from each other until the offer expires. Each claim of a metered call makes
  // the call.
  if (redemption.isOvertaken && (rail.scheme.metered || core.clock.now() >= deadline))
    return failed(core, settlementPending(challenge))
  if (!core.rails.standing.carries(rail, challenge.amount)) {
    // The stored challenge may be paid already: its payer gets the result, and this payment costs no gas.
    if (found.lookupSkipped) return undefined
    return failed(core, gasTooDear(challenge, rail.network.name), challenge, rail.id)
  }
  const unavailable = await whyUnsettled(core, rail, checked.signed)
  if (unavailable) return failed(core, cannotSettle(unavailable, challenge.key))
  if (!redemption.place) {
    const place = await core.payers.enter(payer, rail.network.chainId, placesFor(core, challenge), deadline)
    if (place instanceof GatewayError) return failed(core, place)
    redemption.place = place
  }
  const attempt = await claimPayment(core, rail, found, checked, intent)
  if (!attempt) return undefined
  const watched = core.signals.subscribe(challenge.key, attempt.key)
  const called = rail.scheme.metered
    ? await callMetered(core, rail, attempt, challenge.key, responder).catch((error: unknown) => {
        watched.close()
        throw error
      })
    : ({ kind: 'charged', attempt } as const)
  if (called.kind === 'answered') {
    watched.close()
    return called.outcome
  }
  const sent = called.kind === 'charged' ? await redemption.broadcaster.add(called.attempt) : called
  if (sent.kind === 'unpaid') {
    watched.close()
    redemption.place.fail()
    return failed(core, unpaidCall(challenge, sent.error.message))
  }
  if (sent.kind === 'released') {
    watched.close()
    if (sent.later && core.clock.now() < deadline) {
      redemption.place.leave()
      redemption.place = undefined
      await core.clock.sleep(pauseBefore(core, round + 1))
      return undefined
    }
    if (countsAsFailure(sent.error)) redemption.place.fail()
    const { code } = sent.error
    const again = code === 'PAYMENT_FAILED' || code === 'PERMIT2_ALLOWANCE_REQUIRED' ? challenge : undefined
    return failed(core, sent.error, again, rail.id)
  }
  const outcome = await settledOutcome(core, {
    challengeId: challenge.key,
    owner: { payer, network: rail.network.id, byKey: checked.byKey },
    authKey: attempt.key,
    fresh: true,
    watched,
    sent: sent.kind === 'broadcast',
    // A metered call may have taken long, and its payment was sent only now.
    deadline: rail.scheme.metered ? core.clock.now() + core.config.settleWaitMs : deadline,
    responder,
  })
  if (!outcome) redemption.isOvertaken = true
  if (outcome?.kind === 'failed' && outcome.error.code === 'PAYMENT_FAILED') redemption.place.fail()
  return outcome
}

/**
 * Why this rail cannot settle now. One that is withdrawn was offered before, so its payments are still taken if it has
 * just become able; otherwise they are refused before the claim.
 */
async function whyUnsettled(
  { rails }: Core,
  rail: OpenRail,
  signed: CheckedPayment['signed'],
): Promise<string | undefined> {
  if (rails.standing.of(rail).withdrawn) {
    const reason = await whyUnable(rail)
    if (reason !== undefined) return reason
    rails.standing.able(rail)
  } else {
    const reason = await rail.settlement.unavailable()
    if (reason) rails.standing.refused(rail, reason)
    if (reason) return reason
  }
  // The payer chose this wallet among ours: that it is empty says nothing of the rail.
  const { sender } = rail.scheme.factsOf(signed)
  return sender === undefined ? undefined : rail.settlement.unavailable(sender)
}

/** Of a random length: payments that were refused together, each for the sake of the others, come back one by one. */
function pauseBefore({ config, random }: Core, round: number): number {
  const longest = config.storePollMs * 2 ** Math.min(round, LONGEST_PAUSE)
  return (longest * (random.bytes(1)[0]! + 1)) / 256
}

/** Errors that are not the payer's fault do not count against it. */
function countsAsFailure({ code }: GatewayError): boolean {
  return code !== 'SETTLEMENT_PENDING' && code !== 'RATE_LIMITED'
}

/** Calls in flight count as undelivered. Beyond the cap they wait for each other instead of being refused. */
function placesFor({ config }: Core, { kind }: ChallengeRow): number {
  return (kind === 'route' && config.payerUndeliveredPerDay) || Number.POSITIVE_INFINITY
}

/**
 * A second payment for a paid challenge is never sent; it only proves who the payer is. It must be unused for that: a
 * used one is public, and anybody could send it.
 */
async function releaseToPayer(
  core: Core,
  { intent, rail, deadline, responder }: Redemption,
  challenge: ChallengeRow,
  { signed, byKey }: CheckedPayment,
): Step {
  const { payer } = intent.payment
  const owner = { payer, network: rail.network.id, byKey }
  if (!isPaidBy(challenge, owner) || challenge.receipt === null) return failed(core, otherPayer(challenge))
  const limited = core.payers.refuseLook(payer)
  if (limited) return failed(core, limited)
  const { results } = await lookAtChain(core, rail, [signed])
  if (results[0]?.kind === 'used') return failed(core, alreadyRedeemed(challenge))
  const wait = { challengeId: challenge.key, owner, fresh: false, deadline, responder }
  return (await settledOutcome(core, wait)) ?? failed(core, settlementPending(challenge))
}
