import { describe, expect, test } from 'vitest'
import type { PaymentPayload } from '../protocol/payment.ts'
import { checkAgreement, validityFault } from './check-payment.ts'

const payTo = '0x1111111111111111111111111111111111111111' as const
const payer = '0x2222222222222222222222222222222222222222' as const
const asset = '0x036cbd53842c5426634e7929541ec2318f3dcf7e' as const
const terms = { key: 'http-x', amount: '1000000', asset, payTo, network: 'eip155:84532' }
const authorization = {
  from: payer,
  to: payTo,
  value: '1000000',
  validAfter: '0',
  validBefore: '1300',
  nonce: `0x${'ab'.repeat(32)}` as const,
}
const accepted = { scheme: 'exact', network: 'eip155:84532', asset, amount: '1000000', payTo }
const payment = (change: Partial<PaymentPayload> = {}): PaymentPayload => ({
  x402Version: 2,
  payload: { signature: '0x00', authorization },
  accepted,
  ...change,
})

describe('checkAgreement', () => {
  test('a payment that fits the challenge passes, with or without its optional parts, in any case of hex', () => {
    expect(checkAgreement(payment(), terms)).toBeUndefined()
    expect(checkAgreement(payment({ accepted: undefined }), terms)).toBeUndefined()
    const upper = {
      ...accepted,
      asset: `0x${asset.slice(2).toUpperCase()}`,
      payTo: `0x${payTo.slice(2).toUpperCase()}`,
    }
    expect(
      checkAgreement(payment({ accepted: upper, network: 'eip155:84532', scheme: 'exact' }), terms),
    ).toBeUndefined()
  })

  test.each(['999999', '1000001', '0'])(
    'a signed value of %s is AMOUNT_MISMATCH, before any other fault',
    (value) => {
      const signed = { signature: '0x00' as const, authorization: { ...authorization, value, to: payer } }
      expect(checkAgreement(payment({ payload: signed }), terms)?.code).toBe('AMOUNT_MISMATCH')
    },
  )

  test.each([
    ['amount', '1', 'AMOUNT_MISMATCH'],
    ['payTo', payer, 'INVALID_PROOF'],
    ['asset', payer, 'INVALID_PROOF'],
    ['network', 'eip155:8453', 'INVALID_PROOF'],
    ['scheme', 'upto', 'INVALID_PROOF'],
  ])('a forged accepted.%s is %s → %s', (field, value, code) => {
    const error = checkAgreement(payment({ accepted: { ...accepted, [field]: value } }), terms)
    expect(error?.code).toBe(code)
    expect(error?.message).toContain(`accepted.${field}`)
  })

  test('a transfer to somebody else, and contradicting optional parts, are INVALID_PROOF', () => {
    const elsewhere = { signature: '0x00' as const, authorization: { ...authorization, to: payer } }
    const otherFrom = { signature: '0x00' as const, authorization, from: payTo }
    for (const change of [
      { payload: elsewhere },
      { payload: otherFrom },
      { network: 'eip155:1' },
      { scheme: 'upto' },
    ]) {
      expect(checkAgreement(payment(change), terms)?.code).toBe('INVALID_PROOF')
    }
  })
})

describe('validityFault', () => {
  const at = (validAfter: string, validBefore: string) =>
    validityFault({ ...authorization, validAfter, validBefore }, 1000)
  test('10 to 3600 seconds ahead of chain time is good', () => {
    expect(at('0', '1010')).toBeUndefined()
    expect(at('999', '4600')).toBeUndefined()
  })
  test('too close, past, far away and 2^256-1 are faults', () => {
    for (const validBefore of ['1009', '0', '4601', (2n ** 256n - 1n).toString()])
      expect(at('0', validBefore)).toContain('validBefore')
    expect(at('1000', '1300')).toContain('validAfter')
  })
})
