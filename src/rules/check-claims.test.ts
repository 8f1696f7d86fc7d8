import { describe, expect, test } from 'vitest'
import type { Claim } from '../facts.ts'
import { type AgreedTerms, checkClaims } from './check-claims.ts'

const terms: AgreedTerms = {
  amount: '1000000',
  payTo: '0x11111111111111111111111111111111111111ab',
  network: 'eip155:84532',
  asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
  scheme: 'exact',
  payer: '0x22222222222222222222222222222222222222cd',
}
const fields = Object.keys(terms) as Array<Claim['about']>
const claim = (about: Claim['about'], value = terms[about], field = `accepted.${about}`): Claim => {
  return { about, field, value }
}
const check = (claims: readonly Claim[]) => checkClaims(claims, terms, 'http-x')

describe('a payment that says what the challenge says', () => {
  test('agrees with any of its claims, and also without any', () => {
    expect(check(fields.map((about) => claim(about)))).toBeUndefined()
    for (const about of fields) expect(check([claim(about)])).toBeUndefined()
    expect(check([])).toBeUndefined()
  })

  test('agrees in any case of hex', () => {
    const upper = (about: Claim['about']) => claim(about, `0x${terms[about].slice(2).toUpperCase()}`)
    expect(check([upper('asset'), upper('payTo'), upper('payer')])).toBeUndefined()
  })
})

describe('a payment that says something else', () => {
  test.each(['999999', '1000001', '0', '', '01000000', '1000000.0'])(
    'a signed value of %j is AMOUNT_MISMATCH, before any other fault',
    (value) => {
      const amount = claim('amount', value, 'authorization.value')
      for (const claims of [
        [amount],
        [claim('payTo', terms.payer), amount],
        [claim('network', 'eip155:1'), amount, claim('scheme', 'upto')],
        // The repeated terms are right, but the signed value is not.
        [claim('amount'), amount],
        [amount, claim('amount')],
      ]) {
        const error = check(claims)
        expect(error).toMatchObject({ code: 'AMOUNT_MISMATCH', details: { challengeId: 'http-x' } })
        expect(error?.message).toContain(`authorization.value is ${value}; the challenge asks 1000000`)
      }
    },
  )

  test.each<[Claim['about'], string, string]>([
    ['amount', '1', 'AMOUNT_MISMATCH'],
    ['payTo', terms.payer, 'INVALID_PROOF'],
    ['asset', terms.payer, 'INVALID_PROOF'],
    ['network', 'eip155:8453', 'INVALID_PROOF'],
    ['scheme', 'upto', 'INVALID_PROOF'],
    ['payer', terms.payTo, 'INVALID_PROOF'],
  ])('a forged %s of %s is %s, and the message names the field', (about, value, code) => {
    const others = fields.map((field) => claim(field))
    for (const claims of [[claim(about, value)], [...others, claim(about, value)]]) {
      const error = check(claims)
      expect(error).toMatchObject({ code, details: { challengeId: 'http-x' } })
      expect(error?.message).toContain(`accepted.${about} is ${value}`)
    }
  })

  test('is quoted only up to a limited length', () => {
    for (const about of fields) {
      expect(check([claim(about, 'x'.repeat(5000))])!.message.length).toBeLessThan(300)
    }
  })
})

test('a network that is not offered is answered with those that are', () => {
  const offered = ['eip155:84532', 'eip155:421614']
  const wrong = checkClaims([claim('network', 'eip155:1')], terms, 'http-x', offered)
  expect(wrong?.message).toBe('accepted.network is eip155:1; expected eip155:84532 or eip155:421614.')
})
