import { GatewayError } from '../errors.ts'
import type { AuthorizationRow, ChallengeRow, SignedAuthorization } from '../ports.ts'
import { checkAgreement } from '../rules/check-payment.ts'
import { ownsAttempt, saltHashOf } from '../rules/ownership.ts'
import { putChallenge } from './apply-event.ts'
import type { Broadcaster } from './broadcast.ts'
import { type Core, commit, getOne, stored } from './core.ts'
import type { Handover } from './deliver-route.ts'
import { attemptKey, type Found, findChallenge, type PaidIntent } from './find-challenge.ts'
import { putHold } from './holds.ts'
import { lookAtChain } from './look-at-chain.ts'
import { expireChallenge } from './open-challenge.ts'
import type { Intent, Outcome } from './outcome.ts'
import type { Place } from './payer-room.ts'
import { holdUndelivered } from './refund-cap.ts'
import {
  alreadyRedeemed,
  cannotSettle,
  challengeClosed,
  otherPayer,
  refunded,
  settlementPending,
  triedTooOften,
} from './refusals.ts'
import { noteRefused } from './refused-payments.ts'
import { refuseLook } from './replay-limit.ts'
import { failed, settledOutcome, waitForChange } from './settled-outcome.ts'

/** One request goes round at most so often: each round, somebody else made progress. */
const MAX_ROUNDS = 1000
/** While others are in flight a payment asks again and again, each time after twice as long, so often. */
const LONGEST_PAUSE = 3
/** Each leaves a row for a while; whoever failed so often may ask for another challenge. */
const MAX_TRIES = 20

/**
 * Redeems a payment: find, check, claim (T1), hand over to the broadcaster, wait for the chain's word. Every way to
 * be interrupted leaves rows that the jobs finish with the same functions.
 */
export async function redeemPayment(
  core: Core,
  broadcaster: Broadcaster,
  intent: PaidIntent,
): Promise<Outcome> {
  const places: Place[] = []
  try {
    return await redeem(core, broadcaster, intent, places)
  } finally {
    for (const place of places) place.leave()
  }
}

/** `places` takes the place that the payment has in its payer's room. */
async function redeem(
  core: Core,
  broadcaster: Broadcaster,
  intent: PaidIntent,
  places: Place[],
): Promise<Outcome> {
  const deadline = core.clock.now() + core.config.settleWaitMs
  const { payment } = intent
  const waiting = { deadline, handover: handoverOf(intent) }
  let verified = false
  let { signature } = payment.payload
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await findChallenge(core, intent, round === 0)
    if (found.kind === 'failed') return failed(core, found.error)
    const { challenge } = found
    if (found.kind === 'bound') {
      const live = found.attempt.phase === 'CLAIMED' || found.attempt.phase === 'BROADCAST'
      // An honest buyer may have dropped the salt: "redeemed" would make it pay again while the first is in flight.
      if (!ownsAttempt(found.attempt, payment)) {
        return failed(core, live ? settlementPending(challenge) : alreadyRedeemed(challenge))
      }
      const outcome = await settledOutcome(core, {
        ...waiting,
        challengeId: challenge.key,
        payer: found.attempt.auth.from,
        authKey: found.attempt.key,
        fresh: false,
      })
      if (outcome) return outcome
      continue
    }
    const closed = closedError(core, challenge)
    const disagreement = checkAgreement(payment, challenge)
    // What is stored may say something else, and has to be asked before anybody is sent away.
    if (found.guessed && (closed || disagreement)) continue
    if (closed) {
      // Stored before it is said: should an abandoned attempt land after all, it must find the challenge expired and
      // go back, because the buyer was told to start anew.
      const unsaid = challenge.state === 'PENDING' && challenge.version > 0
      if (unsaid && !(await expireChallenge(core, challenge))) continue
      return failed(core, closed)
    }
    const refuse = async (error: GatewayError): Promise<Outcome> => {
      const { from: payer } = payment.payload.authorization
      await noteRefused(core, challenge, { key: attemptKey(core, payment), payer, error })
      return failed(core, error, challenge)
    }
    if (disagreement) return refuse(disagreement)
    const auth: SignedAuthorization = { ...payment.payload.authorization, signature }
    if (!verified) {
      const checked = await core.signatures.check(auth)
      if (typeof checked === 'object') {
        // Says nothing of the payer that it names: forgeries must not use up a stranger's budget.
        if ('invalid' in checked) {
          return refuse(new GatewayError('INVALID_PROOF', checked.invalid, { challengeId: challenge.key }))
        }
        signature = checked.unwrapped
        auth.signature = signature
      }
      const limited = core.payers.refusal(auth.from)
      if (limited) return failed(core, limited)
      verified = true
    }
    if (challenge.state !== 'PENDING') return releaseToPayer(core, challenge, auth, waiting)
    if (challenge.liveAuth !== null) {
      // Another authorization is in flight: this one is never sent. Its outcome answers both.
      const rival = await getOne(core, 'authorizations', challenge.liveAuth)
      if (rival && rival.auth.from !== auth.from) return failed(core, otherPayer(challenge))
      if (core.clock.now() >= deadline) return failed(core, settlementPending(challenge))
      const subscription = core.signals.subscribe(challenge.key)
      await waitForChange(core, subscription, deadline).finally(subscription.close)
      continue
    }
    if (!found.released && (challenge.tries ?? 0) >= MAX_TRIES) return failed(core, triedTooOften(challenge))
    const unavailable = await core.settlement.unavailable()
    if (unavailable) return failed(core, cannotSettle(unavailable))
    if (places.length === 0) {
      const place = await core.payers.enter(auth.from, placesFor(core, challenge), deadline)
      if (place instanceof GatewayError) return failed(core, place)
      places.push(place)
    }
    const [place] = places
    const attempt = await claim(core, found, auth, intent)
    if (!attempt) continue
    const watched = core.signals.subscribe(challenge.key, attempt.key)
    const looked = await broadcaster.add(attempt)
    if (looked.kind === 'released') {
      watched.close()
      if (looked.later && core.clock.now() < deadline) {
        places.pop()?.leave()
        await core.clock.sleep(core.config.storePollMs * 2 ** Math.min(round, LONGEST_PAUSE))
        continue
      }
      if (costsAPlace(looked.error)) place?.fail()
      return failed(core, looked.error, looked.error.code === 'PAYMENT_FAILED' ? challenge : undefined)
    }
    const outcome = await settledOutcome(core, {
      ...waiting,
      challengeId: challenge.key,
      payer: auth.from,
      authKey: attempt.key,
      fresh: true,
      watched,
      sent: looked.kind === 'broadcast',
    })
    if (outcome) {
      if (outcome.kind === 'failed' && outcome.error.code === 'PAYMENT_FAILED') place?.fail()
      return outcome
    }
  }
  return failed(core, new GatewayError('INTERNAL_ERROR', 'Too many concurrent requests for this payment.'))
}

/** What says nothing against the payer is not held against it. */
function costsAPlace({ code }: GatewayError): boolean {
  return code !== 'SETTLEMENT_PENDING' && code !== 'RATE_LIMITED'
}

/** Calls in flight count as undelivered: beyond the cap they wait for each other instead of being refused. */
function placesFor({ config }: Core, { kind }: ChallengeRow): number {
  return (kind === 'route' && config.payerUndeliveredPerDay) || Number.POSITIVE_INFINITY
}

/** Routes without a call never get as far as a delivery: they are refused as RESOURCE_REQUIRED. */
export function handoverOf({ call, embedded }: Intent): Handover {
  return call && !embedded ? { kind: 'call', call } : { kind: 'embedded' }
}

/** T1. The insert is the claim: of all settlements racing on this nonce or this challenge exactly one wins. */
async function claim(
  core: Core,
  { challenge, inserts, released }: Extract<Found, { kind: 'open' }>,
  auth: SignedAuthorization,
  intent: PaidIntent,
): Promise<AuthorizationRow | undefined> {
  const at = core.clock.now()
  const hold = holdUndelivered(core, challenge, auth.from)
  const attempt: AuthorizationRow = {
    key: attemptKey(core, intent.payment),
    version: released?.version ?? 0,
    ref: challenge.key,
    dueAt: at + core.config.leaseMs,
    challengeId: challenge.key,
    auth,
    saltHash: saltHashOf(intent.payment),
    claim: { requestId: challenge.requestId, at, openedAt: challenge.createdAt },
    phase: 'CLAIMED',
    fromHeight: 0,
    walletTx: null,
    sends: 0,
    packLimit: null,
    reason: null,
    ...(hold && { undelivered: hold.key }),
  }
  const claimed: ChallengeRow = {
    ...challenge,
    claimed: true,
    liveAuth: attempt.key,
    dueAt: null,
    clientAgentId: challenge.clientAgentId ?? intent.clientAgentId ?? null,
    tries: (challenge.tries ?? 0) + (released ? 0 : 1),
    ...(hold && { undelivered: hold.key }),
  }
  const applied = await commit(core, {
    puts: [
      putChallenge(claimed),
      { table: 'authorizations', row: attempt },
      ...inserts,
      ...(hold ? [putHold(hold)] : []),
    ],
    // Nothing is sent before T1b, which makes this one last as well.
    soft: true,
  })
  return applied ? stored(attempt) : undefined
}

/** Why nothing can be bought with this challenge any more. */
function closedError(core: Core, challenge: ChallengeRow): GatewayError | undefined {
  const { state, expiresAt, liveAuth } = challenge
  const late = state === 'PENDING' && liveAuth === null && core.clock.now() >= expiresAt
  if (late || state === 'EXPIRED' || state === 'CANCELLED') {
    return challengeClosed(challenge)
  }
  return state.startsWith('REFUND') ? refunded(challenge) : undefined
}

/**
 * A second authorization for a paid challenge is never sent: it is the payer's proof of being the payer. To prove
 * that, it must be unused: a used one is public and anybody could show it.
 */
async function releaseToPayer(
  core: Core,
  challenge: ChallengeRow,
  auth: SignedAuthorization,
  waiting: { deadline: number; handover: Handover },
): Promise<Outcome> {
  if (challenge.payer !== auth.from || challenge.receipt === null) return failed(core, otherPayer(challenge))
  const limited = refuseLook(core, auth.from)
  if (limited) return failed(core, limited)
  const { results } = await lookAtChain(core, [auth])
  if (results[0]?.kind === 'used') return failed(core, alreadyRedeemed(challenge))
  const outcome = await settledOutcome(core, {
    ...waiting,
    challengeId: challenge.key,
    payer: auth.from,
    fresh: false,
  })
  return outcome ?? failed(core, settlementPending(challenge))
}
