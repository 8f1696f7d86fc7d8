import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { testOffer } from '../../../test/engine/test-payment.ts'
import { MAINNET, offeredOn, SELLER, testRail } from '../../../test/engine/test-rail.ts'
import type { Offer } from '../../engine/outcome.ts'
import { createOfferJson } from './offer-json.ts'
import { paymentRequired } from './render-offer.ts'
import { shortDescription } from './short-description.ts'

const BASE_URL = 'http://localhost'
const MESSAGE = 'Payment required'
const one = [offeredOn(testRail(), '10000', SELLER)]
const dearer = [offeredOn(testRail(), '20000', SELLER)]
const two = [...one, offeredOn(testRail({ network: MAINNET }), '10000', SELLER)]

function offer(change: Partial<Offer> = {}): Offer {
  return testOffer({
    challengeId: `http-${Math.random()}`,
    requestId: `req-${Math.random()}`,
    salt: `salt-${Math.random()}`,
    description: 'Größe "1"',
    rails: one,
    ...change,
  })
}
const call = (path: string, change: Partial<Offer> = {}) =>
  offer({ kind: 'route', itemId: 'weather', resource: { method: 'GET', path }, ...change })

type Write = ReturnType<typeof createOfferJson>

function expectSame(write: Write, offered: Offer): void {
  const whole = write(offered)
  const { inHeader = whole } = whole
  const description = shortDescription(offered.description)
  for (const [{ open, isAscii }, told] of [
    [whole, offered],
    [inHeader, { ...offered, description }],
  ] as const) {
    const json = `${open}}`
    expect(json).toBe(JSON.stringify(paymentRequired(told, BASE_URL)))
    if (isAscii) expect(Buffer.byteLength(json)).toBe(json.length)
  }
}

describe('it writes the same as JSON.stringify', () => {
  test('for every item, the first time and later', () => {
    const write = createOfferJson(BASE_URL, MESSAGE)
    const offers = [
      ...[offer(), offer(), offer({ message: 'paid already' }), offer()],
      ...[offer({ rails: dearer }), offer(), offer({ requestId: 'a"b\\\u0001' }), offer()],
      ...[call('/weather/lisbon'), call('/weather/porto?x=1'), offer({ itemId: 'weather' })],
      ...[call('/basic', { itemId: 'basic' }), offer()],
      ...[call('/weather/lisbon?a="b\\c'), call('/größe/😀?x=1&y=%22')],
      ...[call('/x', { url: 'https://shop.example/x' }), call('/x', { url: 'https://shop.example/é"' })],
      ...[offer({ salt: '"' }), offer({ resourceId: 'other' }), offer({ itemId: 'other' })],
      ...[offer({ rails: two }), offer({ rails: two }), call('/x', { rails: two }), offer({ rails: [] })],
    ]
    for (const offered of offers) expectSame(write, offered)
  })

  test('after the description of the item has changed, or with another method', () => {
    const write = createOfferJson(BASE_URL, MESSAGE)
    const post = { resource: { method: 'POST', path: '/x' } }
    for (const offered of [
      ...[offer({ description: 'plain' }), offer({ description: 'other' }), offer({ description: 'plain' })],
      ...[call('/x'), call('/x', post), call('/x'), call('/x', { resource: null })],
    ])
      expectSame(write, offered)
  })

  test.each([
    'plain',
    'Größe "1"',
    '\u0001',
    '\u0001\u0002\u0003\u0004\u0005\u0006',
    '\\u0001',
    '\\\\u0003',
    '"\\u0002"',
    '\n\t\0\x7f',
    '\ud800 alone',
    '</script>\u2028',
    '',
    'a'.repeat(1024),
    '天'.repeat(1024),
    '\u0003\\"'.repeat(300),
  ])('for an item with the description %j', (description) => {
    const write = createOfferJson(BASE_URL, MESSAGE)
    for (let turn = 0; turn < 2; turn++) {
      expectSame(write, offer({ description }))
      expectSame(write, call('/x', { description }))
      expectSame(write, offer({ description, rails: two }))
    }
  })

  test('for any texts', () => {
    const write = createOfferJson(BASE_URL, MESSAGE)
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('\\', 'u', '0', '1', '2', '"', '\u0001', '\u0005') }),
      fc.string(),
    )
    const path = text.map((tail) => `/${tail}`)
    const offered = fc.record({
      challengeId: text,
      requestId: text,
      resourceId: text,
      salt: text,
      description: text,
      message: fc.oneof({ weight: 4, arbitrary: fc.constant(MESSAGE) }, { weight: 1, arbitrary: text }),
      kind: fc.constantFrom('plan', 'route'),
      itemId: fc.constantFrom('basic', 'weather'),
      resource: fc.option(fc.record({ method: fc.constantFrom('GET', 'POST'), path })),
      rails: fc.constantFrom(one, two, dearer, []),
      expiresAt: fc.nat(),
    })
    const url = fc.oneof(
      { weight: 3, arbitrary: fc.constant({}) },
      { weight: 1, arbitrary: fc.record({ url: text }) },
    )
    fc.assert(
      fc.property(offered, url, (record, where) => {
        // Twice: once to make the template, and once to use it.
        for (let turn = 0; turn < 2; turn++) expectSame(write, { ...record, ...where })
      }),
      { numRuns: 500 },
    )
  })
})

describe('the bytes of an offer', () => {
  test('are as many as its characters if all of it is ASCII', () => {
    const write = createOfferJson(BASE_URL, MESSAGE)
    const plain = { description: 'plain' }
    expect(write(offer(plain)).isAscii).toBe(true)
    expect(write(offer(plain)).isAscii).toBe(true)
    expect(write(offer()).isAscii).toBe(false)
    expect(write(call('/größe', plain)).isAscii).toBe(false)
  })
})
