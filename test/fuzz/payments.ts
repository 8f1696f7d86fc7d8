import fc from 'fast-check'
import { garbled, headerSafe, type Json, mutated, toText } from './mutate.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** What may stand in `payment-signature`: noise, base64 of noise, and a good payment with something changed. */
export function paymentHeaders(valid: Json): fc.Arbitrary<string> {
  const payload = mutated(valid).map(toText)
  return fc
    .oneof(
      { weight: 6, arbitrary: payload.map(base64) },
      { weight: 1, arbitrary: payload.map((text) => Buffer.from(text).toString('base64url')) },
      { weight: 1, arbitrary: payload },
      { weight: 2, arbitrary: garbled(toText(valid)).map(base64) },
      { weight: 2, arbitrary: garbled(base64(toText(valid))) },
      {
        weight: 1,
        arbitrary: fc.uint8Array({ maxLength: 300 }).map((all) => Buffer.from(all).toString('base64')),
      },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          '',
          '=',
          'e30=',
          'W10=',
          'bnVsbA==',
          `${'A'.repeat(60_000)}`,
          'e30=, e30=',
        ),
      },
    )
    .map(headerSafe)
}

const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((all) => `0x${Buffer.from(all).toString('hex')}`)

/** The shape of a good payment; nobody signed it. */
export const SAMPLE_PAYMENT: Json = {
  x402Version: 2,
  network: 'eip155:84532',
  scheme: 'exact',
  payload: {
    signature: `0x${'11'.repeat(64)}1b`,
    authorization: {
      from: `0x${'Aa'.repeat(20)}`,
      to: `0x${'bB'.repeat(20)}`,
      value: '1000000',
      validAfter: '0',
      validBefore: '1900000000',
      nonce: `0x${'cD'.repeat(32)}`,
    },
  },
  accepted: {
    scheme: 'exact',
    network: 'eip155:84532',
    asset: `0x${'03'.repeat(20)}`,
    amount: '1000000',
    payTo: `0x${'bB'.repeat(20)}`,
    maxTimeoutSeconds: 900,
    extra: { planId: 'basic', challengeId: 'http-x', requestId: 'r', resourceId: 'default', salt: 'ab' },
  },
}

export { hex }
