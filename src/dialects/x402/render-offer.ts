import type { Offer, OfferedRail, SettledPayment } from '../../engine/outcome.ts'
import {
  MAX_TIMEOUT_SECONDS,
  type PaymentRequired,
  type PaymentRequirements,
  type RequirementsExtra,
  SCHEME,
  type SettleResponse,
  UPFRONT,
  X402_VERSION,
} from '../../protocol/payment.ts'
import { receiptExtension } from '../../protocol/receipts.ts'
import { resourceUrl } from '../../rules/resource-url.ts'

/** An offer as the 402 of x402. */
export function paymentRequired(offer: Offer, baseUrl: string): PaymentRequired {
  const { challengeId, requestId, description, message: error } = offer
  const method = offer.resource?.method ?? 'POST'
  return {
    x402Version: X402_VERSION,
    error,
    resource: { url: resourceUrl(baseUrl, offer), method, description, mimeType: 'application/json' },
    accepts: offer.rails.map((rail, index) => requirements(offer, rail, index === 0)),
    challengeId,
    requestId,
  }
}

/**
 * @param describes whether it repeats the description: only the first one does, because all of them must fit into a
 * header
 */
function requirements(
  offer: Offer,
  { network, scheme, extra, amount, payTo }: OfferedRail,
  describes: boolean,
): PaymentRequirements {
  return {
    scheme,
    network: network.id,
    asset: network.token.address,
    amount,
    payTo,
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    extra: { ...extraOf(offer, scheme, network.token.domain, describes), ...extra },
  }
}

function extraOf(
  offer: Offer,
  scheme: string,
  { name, version }: { name: string; version: string },
  describes: boolean,
): RequirementsExtra {
  const { kind, itemId, challengeId, requestId, resourceId, description, salt } = offer
  const item = kind === 'plan' ? { planId: itemId } : { routeId: itemId }
  return {
    name,
    version,
    // Money moves before the handler runs. Clients take offers without this for the opposite.
    ...(scheme === SCHEME && { paymentFlow: UPFRONT }),
    ...(describes && { description }),
    ...item,
    challengeId,
    requestId,
    resourceId,
    salt,
  }
}

/** `payment-response`: the result of a payment. */
export function settleResponse({
  network,
  payer,
  txHash = '',
  amount,
  receipt,
  failure,
}: SettledPayment): SettleResponse {
  return {
    success: failure === undefined,
    transaction: txHash,
    network,
    ...(payer !== undefined && { payer }),
    ...(amount !== undefined && { amount }),
    ...(failure !== undefined && { errorReason: failure }),
    ...(receipt !== undefined && { extensions: receiptExtension(receipt) }),
  }
}
