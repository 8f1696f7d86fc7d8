import { createMpp } from '../../src/dialects/mpp/create-mpp.ts'
import { createX402, type X402 } from '../../src/dialects/x402/create-x402.ts'
import type { ReadableRail } from '../../src/dialects/x402/read-payment.ts'
import type { Offer } from '../../src/engine/outcome.ts'
import { encodeJson } from '../../src/protocol/base64.ts'
import type { Dialects } from '../../src/transports/http/render-outcome.ts'
import { testOffer } from '../engine/test-payment.ts'
import { offeredOn, testRail } from '../engine/test-rail.ts'

export const sampleX402 = (baseUrl: string): X402 => createX402([testRail()], baseUrl)

/** Every dialect, on these rails. */
export const sampleDialects = (baseUrl: string, rails: readonly ReadableRail[] = [testRail()]): Dialects => ({
  x402: createX402(rails, baseUrl),
  mpp: createMpp(rails, baseUrl, Date.now),
})

/** The offer of a plan whose description is not ASCII, with what the test is about. */
export function sampleOffer(changes: Partial<Offer> = {}): Offer {
  const rails = [offeredOn(testRail(), '1000000', `0x${'22'.repeat(20)}`)]
  return testOffer({ description: 'Caffè, 1 €', rails, ...changes })
}

/** A payment as a buyer may send it: well formed, and signed by nobody. */
export const samplePayload = {
  x402Version: 2,
  payload: {
    signature: `0x${'AB'.repeat(65)}`,
    authorization: {
      from: `0x${'11'.repeat(20)}`,
      to: `0x${'22'.repeat(20)}`,
      value: '1000000',
      validAfter: '0',
      validBefore: '1900000000',
      nonce: `0x${'CD'.repeat(32)}`,
    },
  },
}

/** The `payment-signature` header of that payment; `accepted` are the terms that it repeats. */
export function samplePaymentHeader(accepted?: object): string {
  return encodeJson({ ...samplePayload, ...(accepted && { accepted }) })
}
