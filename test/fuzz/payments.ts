import fc from 'fast-check'
import { garble, headerSafe, type Json, type Mutation, render, someChanges, someMutation } from './mutate.ts'

const ENCODINGS = ['base64', 'base64url', 'utf8'] as const

/** A `payment-signature`: a good payment with something changed, before it is encoded or after; or noise. */
export type HeaderMutation =
  | {
      payload: Mutation
      encoding: (typeof ENCODINGS)[number]
      changes: Array<[number, number, string]> | null
    }
  | { raw: string }

export const someHeader: fc.Arbitrary<HeaderMutation> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      payload: someMutation,
      encoding: fc.constantFrom(...Array<'base64'>(9).fill('base64'), ...ENCODINGS),
      changes: fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: someChanges }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      raw: fc.oneof(
        fc.constantFrom('', '=', 'e30=', 'W10=', 'bnVsbA==', 'A'.repeat(60_000), 'e30=, e30='),
        fc.uint8Array({ maxLength: 300 }).map((all) => Buffer.from(all).toString('base64')),
        fc.string({ unit: 'binary', maxLength: 200 }),
      ),
    }),
  },
)

export function renderHeader(header: HeaderMutation, valid: Json): string {
  if ('raw' in header) return headerSafe(header.raw)
  const text = Buffer.from(render(header.payload, [valid])).toString(header.encoding)
  return headerSafe(header.changes === null ? text : garble(text, header.changes))
}

const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((all) => `0x${Buffer.from(all).toString('hex')}`)

/** The shape of a good payment, without a real signature. */
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
