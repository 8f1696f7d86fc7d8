import type { Offer, OfferedTerms, Payment, SettledPayment } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { decodedBytes, decodeJsonObject } from '../../protocol/base64.ts'
import type { PaymentRequired, SettleResponse } from '../../protocol/payment.ts'
import { createOfferJson, type OfferJson } from './offer-json.ts'
import { createPaymentReader, type Fault, type ReadableRail, readTerms } from './read-payment.ts'
import { paymentRequired, settleResponse } from './render-offer.ts'

/** The request header that carries a payment. */
export const PAYMENT_HEADER = 'payment-signature'
/** More than any payment needs. */
export const MAX_PAYMENT_BYTES = 8 * 1024

/** x402 version 2: how buyers say what they pay, and how they are told what to pay and what became of it. */
export interface X402Words {
  /** From JSON. The fault is the end of a sentence. */
  readPayment(value: unknown): Payment | Fault
  /** `accepted`: terms that a buyer repeats. */
  readTerms(value: unknown): Pick<OfferedTerms, 'echo' | 'echoedAmount'> | Fault
  paymentRequired(offer: Offer): PaymentRequired
  settleResponse(settled: SettledPayment): SettleResponse
}

/** The same over HTTP. */
export interface X402 extends X402Words {
  /** From the {@link PAYMENT_HEADER}. Its content never enters a message: it is as good as money. */
  readHeader(header: string): Payment | GatewayError
  /** {@link X402Words.paymentRequired} as JSON without its last brace, quickly. */
  offerJson(offer: Offer): OfferJson
}

export function createX402(rails: readonly ReadableRail[], baseUrl: string): X402 {
  const readPayment = createPaymentReader(rails)
  return {
    readPayment,
    readHeader(header) {
      if (header.startsWith('{')) return refuse('is JSON; send the base64 encoding of it')
      // Fetch joins repeated headers with a comma, which base64 does not contain.
      if (header.includes(',')) return refuse('is given more than once; send exactly one')
      const bytes = decodedBytes(header)
      if (bytes > MAX_PAYMENT_BYTES) {
        return refuse(`decodes to ${bytes} bytes; at most ${MAX_PAYMENT_BYTES} are read`)
      }
      const value = decodeJsonObject(header)
      if (!value) return refuse('is not the base64 or base64url encoding of a JSON object')
      const read = readPayment(value)
      return 'fault' in read ? refuse(read.fault) : read
    },
    readTerms: (value) => readTerms(rails, value),
    paymentRequired: (offer) => paymentRequired(offer, baseUrl),
    offerJson: createOfferJson(baseUrl, 'Payment required'),
    settleResponse,
  }
}

function refuse(fault: string): GatewayError {
  return new GatewayError('INVALID_REQUEST', `the ${PAYMENT_HEADER} header ${fault}`)
}
