import { Mppx } from 'mppx/client'
import { charge } from 'mppx/evm/client'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { testOffer } from '../../../test/engine/test-payment.ts'
import { offeredOn, testRail } from '../../../test/engine/test-rail.ts'
import type { Offer } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { decodeJsonObject } from '../../protocol/base64.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import { makeChallengeId } from '../../rules/challenge-id.ts'
import { acceptsCharge } from './accept-payment.ts'
import { createMpp } from './create-mpp.ts'
import { pinnedNonce } from './read-credential.ts'
import { isCredential, UNSPOKEN } from './spoken.ts'
import { encodeUrl } from './words.ts'

const REALM = 'https://weather.api.example.com'
const rails = NETWORKS.filter(({ testnet }) => !testnet)
  .slice(0, 2)
  .map((network) => testRail({ network }))
const mpp = createMpp(rails, REALM, Date.now)
const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const expiresAt = Math.floor(Date.now() / 1000 + 900) * 1000

const offer: Offer = testOffer({
  challengeId: makeChallengeId({ id: 1, key: new Uint8Array(32) }, 'http', expiresAt, new Uint8Array(12), {
    ...{ kind: 'plan', itemId: 'basic', resourceId: 'default', resource: null, resourceHash: '' },
    ...{ amount: '1000000', requestId: 'r-1', credits: 0 },
  }),
  salt: 's'.repeat(22),
  expiresAt,
  rails: rails.map((rail) => offeredOn(rail, '1000000', rail.payTo)),
})

/** What the unmodified client sends for this offer. */
async function credentialFor(offered: Offer, spoken = UNSPOKEN): Promise<Headers> {
  const sent: Headers[] = []
  const seller = async (...asked: Parameters<typeof fetch>) => {
    const { headers } = new Request(...asked)
    sent.push(headers)
    if (sent.length > 1) return Response.json({})
    const authenticate = mpp.authenticate(offered, spoken)!
    return new Response(null, { status: 402, headers: { 'www-authenticate': authenticate } })
  }
  const domain = offered.rails[0]!.network.token.domain
  const client = Mppx.create({
    methods: [charge({ account, authorization: { name: domain.name, version: domain.version } })],
    fetch: seller as typeof fetch,
    polyfill: false,
  })
  await client.fetch(`${REALM}/x402/access`, {
    method: 'POST',
    headers: { authorization: 'Bearer of-the-seller' },
  })
  return sent[1]!
}

const sent = (await credentialFor(offer)).get('authorization')!
const credential = decodeJsonObject(sent.slice('Payment '.length)) as {
  challenge: Record<string, string>
  payload: Record<string, string>
  source: string
}

describe('a credential of the unmodified client', () => {
  test('becomes the payment of the preferred rail, with the ids and the salt of the offer', () => {
    const payment = mpp.readHeader(sent)
    if (payment instanceof GatewayError) throw payment
    expect(payment).toMatchObject({
      rail: rails[0]!.id,
      payer: account.address.toLowerCase(),
      echo: { planId: 'basic', requestId: 'r-1', resourceId: 'default', challengeId: offer.challengeId },
      echoedAmount: '1000000',
      salt: offer.salt,
    })
    expect(payment.key).toContain(pinnedNonce(`${offer.challengeId}.${offer.salt}`, REALM))
  })

  test('is read as JSON, too, with the request as an object', () => {
    const { challenge, ...rest } = credential
    const request = decodeJsonObject(challenge.request!)!
    expect(mpp.readCredential({ ...rest, challenge: { ...challenge, request } })).toEqual(
      mpp.readHeader(sent),
    )
  })

  test('leaves a bearer token in its header, if the offer names another for the payment', async () => {
    const headers = await credentialFor(offer, { ...UNSPOKEN, hasBearer: true })
    expect(headers.get('authorization')).toBe('Bearer of-the-seller')
    expect(mpp.readHeader(headers.get('payment-authorization')!)).toMatchObject({ salt: offer.salt })
  })
})

const later = new Date(expiresAt + 1000).toISOString()

test.each<[string, Partial<Record<'challenge' | 'payload', Record<string, unknown>>>, string]>([
  ['another id', { challenge: { id: `${credential.challenge.id}x` } }, 'INVALID_PROOF'],
  ['an id of no challenge', { challenge: { id: 'http-1.salt' } }, 'CHALLENGE_NOT_FOUND'],
  ['an id without salt', { challenge: { id: offer.challengeId } }, 'CHALLENGE_NOT_FOUND'],
  ['another realm', { challenge: { realm: 'https://elsewhere.example.com' } }, 'CHALLENGE_NOT_FOUND'],
  [
    'a later expiry',
    { challenge: { expires: later }, payload: { validBefore: String(expiresAt / 1000 + 1) } },
    'INVALID_PROOF',
  ],
  ['another expiry than was signed', { payload: { validBefore: '1' } }, 'INVALID_PROOF'],
  ['a nonce of its own', { payload: { nonce: `0x${'11'.repeat(32)}` } }, 'INVALID_PROOF'],
  ['another method', { challenge: { method: 'tempo' } }, 'METHOD_UNSUPPORTED'],
  ['another type of payload', { payload: { type: 'transaction' } }, 'INVALID_REQUEST'],
  ['no request', { challenge: { request: '' } }, 'INVALID_REQUEST'],
  [
    'a request that asks more',
    { challenge: { request: encodeUrl({ ...decodeJsonObject(credential.challenge.request!), splits: [] }) } },
    'INVALID_REQUEST',
  ],
  ['a secret for an amount', { payload: { value: 'zz-secret' } }, 'INVALID_REQUEST'],
])('a credential with %s is refused, and its content is not repeated', (_, change, code) => {
  const { challenge, payload, source } = credential
  const changed = {
    source,
    challenge: { ...challenge, ...change.challenge },
    payload: { ...payload, ...change.payload },
  }
  const read = mpp.readHeader(`Payment ${encodeUrl(changed)}`)
  expect(read).toMatchObject({ code })
  expect(String(read)).not.toMatch(/zz-secret|0x/)
})

test.each([
  ['method', { method: 'tempo' }],
  ['intent', { intent: 'session' }],
])('a credential of another %s is unsupported, whatever its payload is', (_, other) => {
  const challenge = { ...credential.challenge, ...other }
  const payload = { type: 'transaction', signature: '0x76' }
  expect(mpp.readCredential({ challenge, payload })).toMatchObject({ code: 'METHOD_UNSUPPORTED' })
  expect(mpp.readHeader(`Payment ${encodeUrl({ challenge })}`)).toMatchObject({ code: 'METHOD_UNSUPPORTED' })
})

test('every rail has a challenge with an id of its own', () => {
  const challenges = mpp.challenges(offer)
  expect(challenges.map(({ request }) => request)).toMatchObject(
    rails.map(({ network }) => ({ methodDetails: { chainId: network.chainId } })),
  )
  expect(new Set(challenges.map(({ id }) => id)).size).toBe(2)
  expect(mpp.authenticate(offer, UNSPOKEN)!.match(/\bPayment realm=/g)).toHaveLength(2)
})

test('a client that accepts other methods only is offered none', () => {
  expect(mpp.authenticate(offer, { ...UNSPOKEN, offersMpp: false })).toBeUndefined()
})

test.each<[string, boolean]>([
  ['Payment abc', true],
  ['payment\tabc', true],
  ['PAYMENT', true],
  ['\u00a0Payment abc', true],
  ['Bearer a, Payment abc', true],
  ['Bearer a,payment abc', true],
  ['Payments abc', false],
  ['Bearer payment', false],
  ['Digest realm="Orders, Payment desk", nonce="a"', false],
])('Authorization: %s', (header, isPayment) => {
  expect(isCredential(header)).toBe(isPayment)
})

test.each<[string | null, boolean]>([
  [null, true],
  ['evm/charge', true],
  ['tempo/charge, evm/*;q=0.5', true],
  ['*/*', true],
  ['tempo/charge', false],
  ['*/*, evm/charge;q=0', false],
  ['nonsense', true],
])('Accept-Payment: %s', (header, accepted) => {
  expect(acceptsCharge(header)).toBe(accepted)
})

test.each([
  ['two ids', 'req-1', 'default'],
  ['ids of another length', 'req-12', 'eu'],
  [
    'every character that ids may have',
    'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-',
    'a.b',
  ],
])('opaque holds %s in canonical JSON', (_, requestId, resourceId) => {
  for (const kind of ['plan', 'route'] as const) {
    const { opaque } = mpp.challenges({ ...offer, kind, requestId, resourceId })[0]!
    const text = Buffer.from(opaque, 'base64url').toString()
    const ids =
      kind === 'plan'
        ? { planId: 'basic', requestId, resourceId }
        : { requestId, resourceId, routeId: 'basic' }
    expect(text).toBe(JSON.stringify(ids))
    expect(opaque).toMatch(/^[A-Za-z0-9_-]+$/)
  }
})
