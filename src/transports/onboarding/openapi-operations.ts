import { INTENT, METHOD } from '../../dialects/mpp/words.ts'
import { dollarsToMicro, microToDollars } from '../../protocol/amount.ts'
import type { Network } from '../../protocol/network.ts'
import { UPTO_SCHEME } from '../../protocol/permit2.ts'
import { schemesSold } from '../../protocol/schemes-sold.ts'
import { chosenTerms, paidIn } from '../name-networks.ts'
import type { Offer } from './offer.ts'

export interface Operation {
  operationId: string
  summary: string
  security: Array<Record<string, string[]>>
  responses: Record<string, object>
  [more: string]: unknown
}

export type Paths = Record<string, Record<string, unknown>>

/** Nobody needs a credential; what costs money says so in `x-payment-info`, as directories of paid APIs want it. */
export const OPEN: Operation['security'] = []
/** Directories know a bearer by this name only. */
export const WITH_TOKEN: Operation['security'] = [{ apiKey: [] }]

const SECURITY_SCHEMES = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'the accessToken of an AccessGrant' },
  x402: {
    type: 'apiKey',
    in: 'header',
    name: 'payment-signature',
    description:
      'Pays by x402: base64 of a #/components/schemas/PaymentPayload. Leave it out to be told the terms by a 402.',
  },
  mpp: {
    type: 'http',
    scheme: 'payment',
    description:
      'Pays by MPP: Authorization: Payment with the credential for a challenge of the same 402; Payment-Authorization where Authorization holds a bearer.',
  },
} as const

/** MPP has no metered calls. */
export function securitySchemes({ discovery }: Offer): object {
  const { mpp, ...usual } = SECURITY_SCHEMES
  return schemesSold(discovery).includes('exact') ? { ...usual, mpp } : usual
}

export const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` })

export function json(description: string, schema: object, headers?: object): object {
  return { description, ...(headers && { headers }), content: { 'application/json': { schema } } }
}

const FAILURES: Record<string, string> = {
  '400': 'malformed, contradictory or unknown; nothing was charged',
  '401': 'no valid bearer token',
  '404': 'not found',
  '409': 'the payment was used already',
  '410': 'expired, cancelled or refunded: ask for a new challenge',
  '412':
    'a metered call, and the wallet has not let Permit2 move its maximum: approve it, and send the payment again',
  '413': 'the body is too large',
  '429': 'too many requests: wait for Retry-After seconds',
  '500': 'send the same request again',
  '503':
    'the outcome is not known yet: send the same payment again after Retry-After seconds, never a new one',
}

/** `components.responses`: every failure has the one error body. */
export function failureResponses({ networks, discovery }: Offer): Record<string, object> {
  const schemes = schemesSold(discovery)
  const [isExact, isMetered] = [schemes.includes('exact'), schemes.includes('upto')]
  const undelivered = [
    ...(isExact ? ['paid, but delivery failed; a refund is due'] : []),
    ...(isMetered ? ['a metered call failed; nothing was charged'] : []),
  ]
  const several = networks.length > 1 ? `; it can be paid in ${paidIn(networks)}` : ''
  const named = Object.entries({ ...FAILURES, '502': undelivered.join('; or ') })
    .filter(([status]) => isMetered || status !== '412')
    .map(([status, text]) => [`E${status}`, json(text, schemaRef('Error'))])
  return Object.fromEntries([
    ...named,
    [
      'E402',
      json(
        `payment required: sign what ${chosenTerms(networks)} asks for and send the same request again${several}`,
        schemaRef('PaymentRequired'),
        {
          'payment-required': {
            description: 'base64 of the PaymentRequired object',
            schema: { type: 'string' },
          },
          ...(isExact && {
            'www-authenticate': {
              description: `the same terms for MPP: Payment challenges, method evm, intent charge${isMetered ? '; a metered call has none' : ''}`,
              schema: { type: 'string' },
            },
          }),
        },
      ),
    ],
  ])
}

export function failures(...statuses: number[]): Record<string, object> {
  return Object.fromEntries(
    statuses.map((status) => [String(status), { $ref: `#/components/responses/E${status}` }]),
  )
}

/** What a paid request may be answered beside success. */
export const paidFailures = () => failures(400, 402, 404, 409, 410, 413, 429, 500, 502, 503)

export const RECEIPT = {
  'payment-response': {
    description: 'base64 JSON: success, transaction, network, payer',
    schema: { type: 'string' },
  },
  'Payment-Receipt': {
    description: 'to those who paid by MPP: base64url JSON with status, method, timestamp, reference',
    schema: { type: 'string' },
  },
}

/** Of a metered call, which cannot be paid by MPP. */
export const CHARGE = {
  'payment-response': {
    description:
      'base64 JSON: success, transaction, network, payer, and amount: what was charged, in units of the token',
    schema: { type: 'string' },
  },
}

/** Of the answer to a metered call that failed. */
export const UNCHARGED = {
  'x-svc-code': {
    description: 'CALL_FAILED: nothing was charged; the same payment again makes the call again',
    schema: { type: 'string' },
  },
}

/** Of an answer that is paid and no delivery. */
export const REFUND = {
  'x-svc-refund': {
    description: 'SCHEDULED: this is no delivery, and the payment goes back; x-svc-refund-when says when',
    schema: { type: 'string' },
  },
}

/** `x-payment-info`, as crawlers of paid APIs read it. MPP's challenge of the preferred network comes first. */
export function paymentInfo(prices: readonly string[], [preferred]: readonly Network[]): object {
  const micro = prices.map(dollarsToMicro).sort((a, b) => (a < b ? -1 : 1))
  const usd = (amount: bigint) => microToDollars(amount).slice(1)
  const [min, max] = [micro[0]!, micro.at(-1)!]
  const price =
    min === max
      ? { mode: 'fixed', currency: 'USD', amount: usd(min) }
      : { mode: 'dynamic', currency: 'USD', min: usd(min), max: usd(max) }
  const mpp = { method: METHOD, intent: INTENT, currency: preferred!.token.address }
  return { 'x-payment-info': { price, protocols: [{ x402: {} }, { mpp }] } }
}

/** The same of a metered call: it costs what the call says, perhaps nothing, and MPP does not offer it. */
export function meteredInfo(most: string): object {
  const max = microToDollars(dollarsToMicro(most)).slice(1)
  const price = { mode: 'dynamic', currency: 'USD', min: '0.00', max }
  return { 'x-payment-info': { price, protocols: [{ x402: { scheme: UPTO_SCHEME } }] } }
}
