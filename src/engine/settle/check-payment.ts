import { GatewayError } from '../../errors.ts'
import type { ChallengeRow, Signed } from '../../ports.ts'
import { checkClaims } from '../../rules/check-claims.ts'
import { isMeteredRail } from '../../rules/rail-id.ts'
import type { OpenChallenge, PaidIntent } from '../challenge/find-challenge.ts'
import { expireChallenge } from '../challenge/open-challenge.ts'
import type { Core } from '../core.ts'
import { failed } from '../deliver/settled-outcome.ts'
import type { Outcome, Payment } from '../outcome.ts'
import type { OpenRail } from '../rails.ts'
import { challengeClosed, noLongerMetered, paymentFailed, refunded } from '../refusals.ts'
import { noteRefused } from './refused-payments.ts'

/** A payment whose signature was checked, in the form in which it is sent. */
export interface CheckedPayment {
  signed: Signed
  /** The payer's own key signed it. */
  byKey: boolean
}

/**
 * Does the payment fit the challenge, and did its payer sign it? Returns the payment in the form in which it is sent,
 * or the refusal, or `again` if the challenge must be read again. Nothing is stored for a payment that fails here.
 */
export async function checkPayment(
  core: Core,
  { intent, rail, verified }: { intent: PaidIntent; rail: OpenRail; verified: CheckedPayment | undefined },
  { challenge, lookupSkipped }: OpenChallenge,
): Promise<CheckedPayment | Outcome | 'again'> {
  const { payment } = intent
  const closed = closedError(core, challenge)
  const disagreement = checkAgreement(core, rail, payment, challenge)
  // The stored challenge may be in another state, so it is read before the payment is refused.
  if (lookupSkipped && (closed || disagreement)) return 'again'
  if (closed) {
    // EXPIRED is stored before the answer says so. If an abandoned attempt still lands, it must find the challenge
    // expired and be refunded, because this answer makes the buyer start again.
    const storedAsPending = challenge.state === 'PENDING' && challenge.version > 0
    if (storedAsPending && !(await expireChallenge(core, challenge))) return 'again'
    return failed(core, closed)
  }
  const refuse = async (error: GatewayError): Promise<Outcome> => {
    await noteRefused(core, challenge, { key: payment.key, payer: payment.payer, error })
    return failed(core, error, challenge, rail.id)
  }
  if (disagreement) return refuse(disagreement)
  if (verified) return verified
  const checked = await rail.scheme.verify(payment.signed)
  if ('invalid' in checked) {
    // Does not count against the named payer: forgeries must not use up another account's budget.
    return refuse(new GatewayError('INVALID_PROOF', checked.invalid, { challengeId: challenge.key }))
  }
  if ('endless' in checked) return refuse(paymentFailed(challenge, checked.endless))
  const limited = core.payers.refusal(payment.payer)
  return limited ? failed(core, limited) : checked
}

function checkAgreement(core: Core, rail: OpenRail, payment: Payment, challenge: ChallengeRow) {
  const { network, scheme } = rail
  // A maximum does not pay a fixed price, nor a fixed price a metered call, whatever the payment says of itself.
  if (isMeteredRail(challenge.rail) !== isMeteredRail(rail.id)) {
    const expected = isMeteredRail(challenge.rail) ? 'a metered scheme' : 'a scheme of fixed amounts'
    const message = `The payment is of scheme ${scheme.name}; the challenge is paid by ${expected}.`
    return new GatewayError('INVALID_PROOF', message, { challengeId: challenge.key })
  }
  return checkClaims(
    payment.claims,
    {
      ...core.rails.termsOn(challenge, rail),
      network: network.id,
      asset: network.token.address,
      scheme: scheme.name,
      payer: payment.payer,
    },
    challenge.key,
    [...new Set(core.rails.all.map((open) => open.network.id))],
  )
}

/** Why this challenge can no longer be paid; undefined if it can. */
function closedError(core: Core, challenge: ChallengeRow): GatewayError | undefined {
  const { state, expiresAt, liveAuth } = challenge
  const late = state === 'PENDING' && liveAuth === null && core.clock.now() >= expiresAt
  if (late || state === 'EXPIRED' || state === 'CANCELLED') return challengeClosed(challenge)
  // Nobody says any more what such a call costs.
  const isMetered = core.config.catalog.routes.get(challenge.itemId)?.isMetered === true
  if (state === 'PENDING' && liveAuth === null && isMeteredRail(challenge.rail) && !isMetered)
    return noLongerMetered(challenge)
  return state.startsWith('REFUND') ? refunded(challenge) : undefined
}
