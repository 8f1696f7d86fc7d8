import { schemesSold } from '../../protocol/schemes-sold.ts'
import { paidIn } from '../name-networks.ts'
import { creditGuidance } from './credit-words.ts'
import { type Offer, paidRoutes } from './offer.ts'

/** What an agent must know to buy, in a paragraph: `info["x-guidance"]` of openapi.json. */
export function guidance(offer: Offer): string {
  const { baseUrl, networks, discovery } = offer
  const [plan] = discovery.plans
  return [
    `Pay in ${paidIn(networks)}: call, get a 402 with the terms, sign off-chain (no gas), and send the same request again with the payment.`,
    mppToo(offer),
    meteredToo(offer),
    plan &&
      `A plan: POST ${baseUrl}/x402/access with {"planId": "${plan.planId}", "requestId": "<new UUID>"}; the answer has a bearer token and the URL that it opens.`,
    paidRoutes(offer).length > 0 &&
      'A route: call it directly with the header Idempotency-Key: <new UUID>; each call is paid.',
    creditGuidance(offer),
    'Use one requestId (or Idempotency-Key) per purchase, the same for every retry. On 503 send the same payment again, never a new one.',
    refundsOf(offer),
    `With code: ${baseUrl}/skills.md`,
  ]
    .filter((part) => typeof part === 'string')
    .join(' ')
}

/** How clients of MPP pay, for every document. Undefined where all calls are metered, which MPP does not offer. */
export function mppToo({ discovery }: Offer): string | undefined {
  const schemes = schemesSold(discovery)
  if (!schemes.includes('exact')) return undefined
  return `x402 clients read its payment-required header; MPP clients (method evm, intent charge) pay the same 402 by its WWW-Authenticate header and send Authorization: Payment.${schemes.includes('upto') ? ' Metered calls are paid by x402 only.' : ''}`
}

/** How metered calls are paid, for every document. Undefined where there are none. */
export function meteredToo({ discovery }: Offer): string | undefined {
  if (!schemesSold(discovery).includes('upto')) return undefined
  return 'A metered call asks for its maximum by the x402 scheme upto: sign it for Permit2, and what the call cost is charged. Before the first one a wallet approves Permit2 to move the token, once, by a transaction.'
}

/** What becomes of a payment that led to nothing, and how to follow it. */
export function refundsOf({ discovery, baseUrl }: Offer): string | undefined {
  const { refunds } = discovery
  if (!refunds) return undefined
  return `${refunds.description} GET ${baseUrl}/x402/challenges/<challengeId> (x-svc-status-url of an answer that is no delivery) tells how it stands.`
}
