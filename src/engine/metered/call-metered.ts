import { GatewayError } from '../../errors.ts'
import type { AuthorizationRow, ChallengeRow, Order } from '../../ports.ts'
import { refuseExposure } from '../budgets/exposure.ts'
import { holdGas } from '../budgets/gas-budget.ts'
import { refuseUndelivered } from '../budgets/refund-cap.ts'
import { type Core, getOne, orderFor } from '../core.ts'
import type { RouteResponder } from '../deliver/deliver-route.ts'
import type { Outcome } from '../outcome.ts'
import { CHAIN_UNREADABLE } from '../rail-standing.ts'
import type { OpenRail } from '../rails.ts'
import { callFailed, cannotSettle, paymentFailed } from '../refusals.ts'
import { type Look, lookAtChain } from '../settle/look-at-chain.ts'
import { refusalOf } from '../settle/refusal-of.ts'
import { type ClaimOutcome, release } from '../settle/release-claim.ts'
import { type ChargedCall, chargeCall } from './charge-call.ts'
import { countRead, holdStream } from './stream-call.ts'

/** The payment must stay valid for so much longer than the call may take: its charge is settled afterwards. */
const SETTLED_WITHIN_SECONDS = 60
const CALL_TIMEOUT_MS = 30_000

export type MeteredCall =
  | Exclude<ChargedCall, { kind: 'refused' }>
  | Extract<ClaimOutcome, { kind: 'released' }>
  /** What the buyer is told: the call failed, and nothing was charged. */
  | { kind: 'answered'; outcome: Outcome }

/**
 * Makes a metered call under a claim that is stored: looks at the chain with the maximum, calls the backend or the seller's handler, and
 * stores its answer with the charge. A call that fails costs nothing, and its claim is released.
 */
export async function callMetered(
  core: Core,
  rail: OpenRail,
  claim: AuthorizationRow,
  challengeId: string,
  responder: RouteResponder,
): Promise<MeteredCall> {
  const admitted = await admitCall(core, rail, claim)
  if (admitted.kind !== 'admitted') return admitted
  const { attempt } = admitted
  const challenge = await getOne(core, 'challenges', challengeId)
  if (challenge?.liveAuth !== attempt.key) return { kind: 'taken' }
  const backend = responder.kind === 'embedded' ? core.handlers : core.backend
  if (!backend || !responder.call) throw new Error(`route ${challenge.itemId} has no backend`)
  const { stream, ...whole } = responder.call
  const isOpen = stream !== undefined && !stream.hasBegun
  const holds = isOpen ? await holdStream(core, rail, attempt, challenge) : undefined
  const streamed = holds ? { ...attempt, streamed: holds } : attempt
  const called = await backend.call(meteredOrder(challenge, attempt), holds ? { ...whole, stream } : whole)
  if (called.ok) {
    const charged = await chargeCall(core, rail, streamed, challenge, called)
    // Another instance released the claim; it does not know of these holds, nor that the answer has been read.
    if (charged.kind === 'taken') await countRead(core, streamed, stream)
    if (charged.kind !== 'refused') return charged
    return withhold(core, await countRead(core, streamed, stream), charged.reason)
  }
  return failCall(core, await countRead(core, streamed, stream), called, called.reason)
}

/**
 * Everything that a charge could fail by is looked at and held before the call, also the gas of the transaction that will settle it:
 * afterwards the answer would be there, and nobody could be asked to pay for it.
 */
async function admitCall(
  core: Core,
  rail: OpenRail,
  attempt: AuthorizationRow,
): Promise<{ kind: 'admitted'; attempt: AuthorizationRow } | MeteredCall> {
  let look: Look
  try {
    look = await lookAtChain(core, rail, [attempt.auth])
  } catch {
    core.rails.standing.refused(rail, CHAIN_UNREADABLE)
    return releaseCall(core, attempt, cannotSettle(CHAIN_UNREADABLE, attempt.challengeId), false)
  }
  const result = look.results[0]!
  const error =
    refusalOf(rail, attempt, result, look.at.timestamp) ?? tooShort(core, rail, attempt, look.at.timestamp)
  if (error) return releaseCall(core, attempt, error, false)
  const { alone, plain, gas, funds } = result.kind === 'ok' ? result : { alone: false }
  const over =
    (await refuseUndelivered(core, [attempt])).get(attempt.key) ??
    (await refuseExposure(core, attempt, funds ?? '0'))
  if (over) return releaseCall(core, attempt, over.error, over.later)
  const looked = { ...attempt, fromHeight: look.finalizedHeight }
  const risk = { row: looked, alone, ...(plain && { plain }), ...(gas !== undefined && { gas }) }
  const { held, over: costly } = await holdGas(core, rail, [risk])
  if (!held[0]) return { kind: 'taken' }
  const { row } = held[0]
  const refused = costly.get(row.key)
  return refused ? releaseCall(core, row, refused.error, refused.later) : { kind: 'admitted', attempt: row }
}

function tooShort(
  { config }: Core,
  { scheme }: OpenRail,
  attempt: AuthorizationRow,
  chainTime: number,
): GatewayError | undefined {
  const least = Math.ceil((config.callTimeoutMs ?? CALL_TIMEOUT_MS) / 1000) + SETTLED_WITHIN_SECONDS
  const { validBefore } = scheme.factsOf(attempt.auth)
  if (BigInt(validBefore) >= BigInt(chainTime + least)) return undefined
  const reason = `its deadline is less than ${least} s ahead of chain time ${chainTime}, and the call may take that long`
  return paymentFailed({ key: attempt.challengeId }, reason)
}

async function releaseCall(
  core: Core,
  attempt: AuthorizationRow,
  error: GatewayError,
  later: boolean,
  undeliveredAs?: 'spent',
): Promise<MeteredCall> {
  const outcomes = new Map<string, ClaimOutcome>()
  await release(core, attempt, error, outcomes, later, undeliveredAs)
  const outcome = outcomes.get(attempt.key)
  return outcome?.kind === 'released' ? outcome : { kind: 'taken' }
}

/** A failed call counts as undelivered: whoever makes calls fail on purpose is soon refused. */
async function failCall(
  core: Core,
  attempt: AuthorizationRow,
  { response, raw }: Pick<Extract<Outcome, { kind: 'resource' }>, 'response' | 'raw'>,
  reason: string,
): Promise<MeteredCall> {
  const error = callFailed({ key: attempt.challengeId }, reason)
  const released = await releaseCall(core, attempt, error, false, 'spent')
  if (released.kind !== 'released') return released
  const settled = { ...unsettled(core, attempt), failure: reason }
  return {
    kind: 'answered',
    outcome: { kind: 'resource', response, ...(raw && { raw }), settled, cached: false },
  }
}

/** The answer named a charge that cannot be charged: it is kept back, for it would be read without being paid. */
async function withhold(core: Core, attempt: AuthorizationRow, reason: string): Promise<MeteredCall> {
  const { challengeId } = attempt
  const error = new GatewayError(
    'CALL_FAILED',
    `The seller's answer cannot be charged, so it is kept back: ${reason}. Nothing was charged.`,
    { challengeId, retryAfterSeconds: 30 },
  )
  const released = await releaseCall(core, attempt, error, false, 'spent')
  if (released.kind !== 'released') return released
  const settled = { ...unsettled(core, attempt), failure: reason }
  return { kind: 'answered', outcome: { kind: 'failed', error, settled } }
}

function unsettled(core: Core, attempt: AuthorizationRow) {
  return { network: core.rails.of(attempt).network.id, payer: attempt.payer, amount: '0' }
}

/** The call as the seller's code sees it: not paid yet, and `amount` is the most that it can cost. */
export function meteredOrder(challenge: ChallengeRow, { payer, claim }: AuthorizationRow): Order {
  const { amount, createdAt } = challenge
  return orderFor(challenge, { payer, amount, txHash: '', paidAt: claim?.at ?? createdAt })
}
