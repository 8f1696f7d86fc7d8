import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAINNET, SELLER, TESTNET, testRail } from '../../../test/engine/test-rail.ts'
import { encodeJson } from '../../protocol/base64.ts'
import { checkClaims } from '../../rules/check-claims.ts'
import { createX402 } from './create-x402.ts'
import { createPaymentReader, readTerms } from './read-payment.ts'

const payer = `0x${'22'.repeat(20)}` as const
const other = `0x${'33'.repeat(20)}` as const
/** A token of eighteen decimals beside the first one, on the same network. */
const DAI = {
  ...TESTNET,
  token: { ...TESTNET.token, address: `0x${'da'.repeat(20)}` as const, decimals: 18 },
}
const preferred = testRail()
const onMainnet = testRail({ network: MAINNET })
const inDai = testRail({ network: DAI })
const rails = [preferred, onMainnet, inDai]
const read = createPaymentReader(rails)

const authorization = {
  from: payer,
  to: SELLER,
  value: '1000000',
  validAfter: '0',
  validBefore: '1900000000',
  nonce: `0x${'ab'.repeat(32)}`,
}
const accepted = {
  scheme: 'exact',
  network: TESTNET.id,
  asset: TESTNET.token.address,
  amount: '1000000',
  payTo: SELLER,
}
const payload = { signature: `0x${'cd'.repeat(65)}`, authorization }
const whole = { x402Version: 2, payload, accepted }

function understood(value: unknown) {
  const payment = read(value)
  if ('fault' in payment) throw new Error(payment.fault)
  return payment
}
function faultOf(value: unknown): string {
  const payment = read(value)
  if (!('fault' in payment)) throw new Error('expected a fault')
  return payment.fault
}
/** The engine's check of the payment on the rail that it was read for, at a price of one dollar. */
function judge(value: unknown) {
  const payment = understood(value)
  const { id, network, scheme, payTo } = rails.find(({ id }) => id === payment.rail)!
  const terms = {
    amount: network.token.decimals === 6 ? '1000000' : '1000000000000000000',
    payTo,
    network: network.id,
    asset: network.token.address,
    scheme: scheme.name,
    payer: payment.payer,
  }
  return { rail: id, error: checkClaims(payment.claims, terms, 'http-1') }
}

describe('what the engine gets', () => {
  test('is what was signed, the signer, and the claims of the payment about the terms', () => {
    const extra = { planId: 'basic', challengeId: 'http-1', requestId: 'r-1', resourceId: 'x', salt: 's' }
    const payment = understood({ ...whole, accepted: { ...accepted, extra } })
    expect(payment).toEqual({
      rail: preferred.id,
      signed: { ...authorization, signature: payload.signature },
      key: `84532:${TESTNET.token.address}:${payer}:${authorization.nonce}`,
      payer,
      signature: payload.signature,
      claims: [
        { about: 'amount', field: 'authorization.value', value: '1000000' },
        { about: 'payTo', field: 'authorization.to', value: SELLER },
        { about: 'amount', field: 'accepted.amount', value: '1000000' },
        { about: 'payTo', field: 'accepted.payTo', value: SELLER },
        { about: 'network', field: 'accepted.network', value: TESTNET.id },
        { about: 'asset', field: 'accepted.asset', value: TESTNET.token.address },
        { about: 'scheme', field: 'accepted.scheme', value: 'exact' },
      ],
      echo: { planId: 'basic', challengeId: 'http-1', requestId: 'r-1', resourceId: 'x' },
      echoedAmount: '1000000',
      salt: 's',
      paymentId: undefined,
    })
  })

  test('needs only the signed part', () => {
    expect(understood({ x402Version: 2, payload })).toMatchObject({
      rail: preferred.id,
      claims: [{ about: 'amount' }, { about: 'payTo' }],
      echo: {},
      echoedAmount: undefined,
      salt: null,
    })
  })

  test('is the same payment in any case of hex', () => {
    const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`
    const { from, to, nonce } = authorization
    const shouted = { ...authorization, from: upper(from), to: upper(to), nonce: upper(nonce) }
    const signed = { signature: upper(payload.signature), authorization: shouted }
    const { key, payer, signature, signed: stored } = understood(whole)
    expect(understood({ ...whole, payload: signed })).toMatchObject({ key, payer, signature, signed: stored })
  })

  test('has the name that the payment gives', () => {
    const named = (info: unknown) => ({ ...whole, extensions: { 'payment-identifier': { info }, bazaar: 7 } })
    expect(understood(named({ id: 'pay_1' })).paymentId).toBe('pay_1')
    expect(understood(named({ id: null, required: false })).paymentId).toBeUndefined()
    expect(understood({ ...whole, extensions: null }).paymentId).toBeUndefined()
  })
})

describe('the rail', () => {
  const scheme = 'exact'
  test.each<[string, object, string]>([
    ['no name at all', {}, preferred.id],
    ['its network', { accepted: { network: MAINNET.id } }, onMainnet.id],
    ['its network outside the terms', { network: MAINNET.id }, onMainnet.id],
    ['its token', { accepted: { asset: DAI.token.address } }, inDai.id],
    ['its token in upper case', { accepted: { asset: `0x${'DA'.repeat(20)}` } }, inDai.id],
    ['its scheme, which others share', { scheme }, preferred.id],
    ['all three', { accepted: { scheme, network: MAINNET.id, asset: MAINNET.token.address } }, onMainnet.id],
  ])('is found by %s', (_by, change, rail) => {
    expect(understood({ x402Version: 2, payload, ...change }).rail).toBe(rail)
  })

  test('is that of the repeated terms if the payment contradicts itself, which is a disagreement', () => {
    const value = { ...whole, network: MAINNET.id }
    expect(judge(value)).toMatchObject({ rail: preferred.id, error: { code: 'INVALID_PROOF' } })
    expect(judge(value).error?.message).toContain(`network is ${MAINNET.id}; expected ${TESTNET.id}`)
  })

  test.each<[string, object, string]>([
    ['network', { network: 'eip155:1' }, 'accepted.network is eip155:1'],
    ['token', { asset: other }, `accepted.asset is ${other}`],
    ['scheme', { scheme: 'upto' }, 'accepted.scheme is upto'],
    // Both are offered, but not together.
    ['pair', { network: MAINNET.id, asset: DAI.token.address }, `accepted.network is ${MAINNET.id}`],
  ])('is the preferred one for a %s that is not offered, which is a disagreement', (_what, named, said) => {
    const { rail, error } = judge({ ...whole, accepted: { ...accepted, ...named } })
    expect(rail).toBe(preferred.id)
    expect(error?.code).toBe('INVALID_PROOF')
    expect(error?.message).toContain(said)
  })

  test('is part of the key: the same nonce on another rail has another key', () => {
    const keys = [TESTNET, MAINNET, DAI].map(({ id, token }) => {
      return understood({ ...whole, accepted: { network: id, asset: token.address } }).key
    })
    expect(new Set(keys).size).toBe(3)
  })

  test('sets the unit of the price that the buyer repeats', () => {
    const echoed = (asset: string, amount: string) =>
      understood({ ...whole, accepted: { asset, amount } }).echoedAmount
    expect(echoed(TESTNET.token.address, '1000000')).toBe('1000000')
    expect(echoed(DAI.token.address, '1000000000000000000')).toBe('1000000')
    expect(echoed(DAI.token.address, '1000000000000000001')).toBeUndefined()
    for (const amount of ['', '-1', '1e6', '0x10', ' 1', '01', '1.0', '1'.repeat(80)]) {
      for (const asset of [TESTNET.token.address, DAI.token.address])
        expect(echoed(asset, amount), amount).toBeUndefined()
    }
  })
})

describe('the terms, compared with what the payment claims', () => {
  test('agree with an honest payment', () => {
    expect(judge(whole).error).toBeUndefined()
    expect(judge({ x402Version: 2, payload }).error).toBeUndefined()
    const optional = { network: TESTNET.id, scheme: 'exact', payload: { ...payload, from: payer } }
    expect(judge({ ...whole, ...optional }).error).toBeUndefined()
  })

  test('report a wrong amount before everything else', () => {
    const changed = { ...authorization, value: '999999', to: other }
    const { error } = judge({ ...whole, payload: { ...payload, authorization: changed }, scheme: 'upto' })
    expect(error).toMatchObject({ code: 'AMOUNT_MISMATCH' })
  })

  test.each<[string, object]>([
    ['authorization.to', { payload: { ...payload, authorization: { ...authorization, to: other } } }],
    ['payload.from', { payload: { ...payload, from: other } }],
    ['accepted.payTo', { accepted: { ...accepted, payTo: other } }],
    ['network', { network: 'eip155:1' }],
    ['scheme', { scheme: 'upto' }],
  ])('disagree with a forged %s', (field, change) => {
    const { error } = judge({ ...whole, ...change })
    expect(error?.code).toBe('INVALID_PROOF')
    expect(error?.message).toMatch(new RegExp(`^${field} is `))
  })
})

describe('a fault', () => {
  const SECRET = 'sEcReT'
  const changed = (change: object) => ({
    ...whole,
    payload: { ...payload, authorization: { ...authorization, ...change } },
  })
  const cases: Array<[string, unknown, string]> = [
    [
      'x402Version',
      { ...whole, x402Version: SECRET },
      'x402Version must be 2: pay with a client of x402 version 2, such as @x402/fetch',
    ],
    ['payload', { ...whole, payload: SECRET }, 'payload: expected'],
    ['payload, missing', { x402Version: 2 }, 'payload is missing; expected'],
    [
      'signature, missing',
      { ...whole, payload: { authorization } },
      'payload.signature is missing; expected',
    ],
    ['signature', { ...whole, payload: { ...payload, signature: SECRET } }, 'payload.signature must be'],
    ['authorization', { ...whole, payload: { ...payload, authorization: SECRET } }, 'payload.authorization:'],
    ['from', changed({ from: SECRET }), 'payload.authorization.from must be'],
    ['to', changed({ to: SECRET }), 'payload.authorization.to must be'],
    ['value', changed({ value: SECRET }), 'payload.authorization.value must be'],
    ['value, a number', changed({ value: 1 }), 'payload.authorization.value: expected string'],
    ['validAfter', changed({ validAfter: SECRET }), 'payload.authorization.validAfter must be'],
    ['validBefore', changed({ validBefore: SECRET }), 'payload.authorization.validBefore must be'],
    ['nonce', changed({ nonce: SECRET }), 'payload.authorization.nonce must be'],
    ['payload.from', { ...whole, payload: { ...payload, from: SECRET } }, 'payload.from must be'],
    ['accepted', { ...whole, accepted: SECRET }, 'accepted: expected'],
    ['an id', { ...whole, accepted: { extra: { requestId: `${SECRET} !` } } }, 'accepted.extra.requestId'],
    [
      'the payment’s name',
      { ...whole, extensions: { 'payment-identifier': { info: { id: `${SECRET} !` } } } },
      'extensions.payment-identifier.info.id',
    ],
    ['the whole', SECRET, 'the whole'],
  ]

  test.each(cases)('of %s names the field, and never what was sent', (_what, value, said) => {
    const fault = faultOf(value)
    expect(fault).toMatch(/^is malformed: /)
    expect(fault).toContain(said)
    expect(fault).not.toContain(SECRET)
  })

  test('is returned for any other JSON, and nothing throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(faultOf(value)).toMatch(/^is malformed: /)
        expect(faultOf({ x402Version: 2, payload: { authorization: value, signature: '0x00' } })).toMatch(
          /^is malformed: payload\.authorization/,
        )
      }),
    )
  })
})

describe('terms without a payment', () => {
  test('name the offer and its price', () => {
    const extra = { routeId: 'quote', challengeId: 'http-1', salt: 's' }
    expect(readTerms(rails, { ...accepted, extra })).toEqual({
      echo: { routeId: 'quote', challengeId: 'http-1' },
      echoedAmount: '1000000',
    })
    expect(readTerms(rails, { asset: DAI.token.address, amount: '1000000000000' })).toEqual({
      echo: {},
      echoedAmount: '1',
    })
  })

  test('that are malformed are refused by the name of the field', () => {
    expect(readTerms(rails, { extra: { planId: 'a b' } })).toMatchObject({
      fault: expect.stringMatching(/^is malformed: extra\.planId/),
    })
    expect(readTerms(rails, 7)).toHaveProperty('fault')
  })
})

describe('the header', () => {
  const { readHeader } = createX402(rails, 'https://api.example.com')

  test('is read in base64 and in base64url', () => {
    const text = JSON.stringify(whole)
    for (const encoding of ['base64', 'base64url'] as const)
      expect(readHeader(Buffer.from(text).toString(encoding))).toEqual(understood(whole))
  })

  test.each<[string, string, RegExp]>([
    ['given twice', `${encodeJson(whole)}, ${encodeJson(whole)}`, /is given more than once/],
    ['JSON itself', JSON.stringify(whole), /is JSON; send the base64 encoding of it$/],
    ['no base64', '?', /is not the base64 or base64url encoding of a JSON object/],
    ['empty', '', /is not the base64/],
    ['an array', encodeJson([whole]), /encoding of a JSON object/],
    ['over 8 KiB', encodeJson({ pad: 'x'.repeat(9000) }), /decodes to \d+ bytes; at most 8192 are read/],
    [
      'malformed',
      encodeJson({ ...whole, x402Version: 1 }),
      /is malformed: x402Version must be 2: pay with a client of x402 version 2, such as @x402\/fetch/,
    ],
  ])('that is %s is refused', (_what, header, said) => {
    const error = readHeader(header)
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', message: expect.stringMatching(said) })
    expect(error).toHaveProperty('message', expect.stringMatching(/^the payment-signature header /))
  })
})

test('a payload of another scheme than it names is read as what it is, and its name is the disagreement', () => {
  const parse = () => ({ fault: 'permit2Authorization is missing' })
  const upto = { ...testRail(), id: 'upto', scheme: { ...testRail().scheme, name: 'upto', parse } }
  const readBoth = createPaymentReader([preferred, upto])
  const named = { ...whole, accepted: { ...accepted, scheme: 'upto' } }
  expect(readBoth(named)).toMatchObject({
    rail: preferred.id,
    claims: expect.arrayContaining([expect.objectContaining({ value: 'upto' })]),
  })
  expect(readBoth({ ...named, payload: {} })).toEqual({
    fault: 'is malformed: permit2Authorization is missing',
  })
})
