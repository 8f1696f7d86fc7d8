import { MalformedCredential } from '../../dialects/mpp/malformed-credential.ts'
import { credentialsIn, type Spoken, spokenBy } from '../../dialects/mpp/spoken.ts'
import { ACCEPT_PAYMENT, AUTHORIZATION, PAYMENT_AUTHORIZATION } from '../../dialects/mpp/words.ts'
import { SIGN_IN_WITH_X } from '../../dialects/siwx/read-proof.ts'
import { PAYMENT_HEADER } from '../../dialects/x402/create-x402.ts'
import type { Intent, Payment } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { headerOf } from './native-request.ts'
import { readRequestId } from './read-request-id.ts'
import { isBearer, RESOURCE_ID_HEADER } from './read-spender.ts'
import type { Dialects } from './render-outcome.ts'

/** What a request says about payments in its headers: how it speaks of them, and what it pays with. */
export interface Paying {
  spoken: Spoken
  /** A GatewayError: it pays with something that is not understood. */
  paying: { payment?: Payment | undefined } | GatewayError
}

/** What the headers of a direct call say. The engine takes ids that they leave out from the terms that the payment repeats. */
export type CallHeaders = Pick<Intent, 'requestId' | 'payment'>

const NOTHING = {}

/** The payment header of x402's first version, which nobody answers here. */
const V1_PAYMENT_HEADER = 'x-payment'

/** How a request speaks of payments, for answers that are no concern of its payment. */
export function spokenOf(request: Request): Spoken {
  return spokenBy(
    headerOf(request, AUTHORIZATION),
    headerOf(request, PAYMENT_AUTHORIZATION),
    headerOf(request, ACCEPT_PAYMENT),
  )
}

/** HEAD asks for the terms of GET, but buys nothing: it has no answer to sell. */
export function decodePaymentHeaders({ x402, mpp }: Dialects, request: Request): Paying {
  const header = headerOf(request, PAYMENT_HEADER)
  const authorization = headerOf(request, AUTHORIZATION)
  const beside = headerOf(request, PAYMENT_AUTHORIZATION)
  const spoken = spokenBy(authorization, beside, headerOf(request, ACCEPT_PAYMENT))
  if (header === null && !spoken.paysByMpp) {
    return { spoken, paying: headerOf(request, V1_PAYMENT_HEADER) === null ? NOTHING : paidByVersion1() }
  }
  const credentials = credentialsIn(authorization, beside)
  if (credentials.length + (header === null ? 0 : 1) > 1) return { spoken, paying: paidTwice() }
  if (request.method === 'HEAD') return { spoken, paying: paidByHead() }
  const payment = header === null ? mpp.readHeader(credentials[0]!) : x402.readHeader(header)
  return { spoken, paying: payment instanceof GatewayError ? payment : { payment } }
}

function paidTwice(): GatewayError {
  return new MalformedCredential(
    `the request pays twice, by two of the headers ${PAYMENT_HEADER}, Authorization: Payment and Payment-Authorization; send one`,
  )
}

function paidByHead(): GatewayError {
  return new GatewayError('INVALID_REQUEST', 'HEAD buys nothing; send the same payment with GET')
}

function paidByVersion1(): GatewayError {
  const message = `X-PAYMENT belongs to x402 version 1, and this gateway takes version 2: answer the terms of the header payment-required in ${PAYMENT_HEADER}; nothing was charged`
  return new GatewayError('INVALID_REQUEST', message, {
    hint: 'pay with a client of x402 version 2, such as @x402/fetch or @x402/axios',
  })
}

/** Reads the headers of a paid route's direct call. */
export function decodeCallHeaders(
  dialects: Dialects,
  request: Request,
): { spoken: Spoken; asked: CallHeaders | GatewayError } {
  const { spoken, paying } = decodePaymentHeaders(dialects, request)
  return { spoken, asked: paying instanceof GatewayError ? paying : askedBy(request, paying.payment) }
}

function askedBy(request: Request, payment: Payment | undefined): CallHeaders | GatewayError {
  const requestId = readRequestId(undefined, payment, headerOf(request, 'idempotency-key'))
  if (requestId instanceof GatewayError) return requestId
  if (!payment) return requestId === undefined ? {} : { requestId }
  if (requestId === undefined) return { payment }
  return namesAccount(request) ? { payment: { ...payment, paymentId: requestId } } : { payment, requestId }
}

/**
 * Its `Idempotency-Key` is a name within the account whose credits it would spend, so that the offer of a call it cannot
 * spend for has another requestId. Where it pays for that call, the key names the payment.
 */
function namesAccount(request: Request): boolean {
  return (
    isBearer(headerOf(request, AUTHORIZATION)) ||
    headerOf(request, SIGN_IN_WITH_X) !== null ||
    headerOf(request, RESOURCE_ID_HEADER) !== null
  )
}

export const soldMethod = (method: string): string => (method === 'HEAD' ? 'GET' : method)
