import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { testOffer } from '../../../test/engine/test-payment.ts'
import { offeredOn, testRail } from '../../../test/engine/test-rail.ts'
import { sampleDialects } from '../../../test/transports/sample-x402.ts'
import { createRandomPool } from '../../delivery/random-pool.ts'
import { receiptKeys } from '../../delivery/receipt-keys.ts'
import { parseSecretKeys } from '../../delivery/secret-keys.ts'
import { createReceiptSigner } from '../../delivery/sign-receipts.ts'
import { createSiwx } from '../../dialects/siwx/create-siwx.ts'
import type { Offer } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { decodeJsonObject } from '../../protocol/base64.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import type { PaymentRequired } from '../../protocol/payment.ts'
import { createOutcomeRenderer } from './render-outcome.ts'
import { signedOffers } from './signed-offers.ts'

const BASE_URL = 'https://weather.api.example.com'
const sixRails = NETWORKS.filter(({ testnet }) => !testnet)
  .slice(0, 6)
  .map((network) => testRail({ network }))
const dialects = sampleDialects(BASE_URL, sixRails)
const { x402 } = dialects
const { member: signIn } = createSiwx({
  ...{ baseUrl: BASE_URL, networks: sixRails.map(({ network }) => network.id) },
  ...{ now: Date.now, random: createRandomPool() },
})
const discovery = {
  plans: [{ planId: 'basic', unitAmount: '$1.00' }],
  routes: [{ routeId: 'weather', method: 'GET' as const, path: '/weather/:city', unitAmount: '$1.00' }],
}
const render = createOutcomeRenderer(dialects, BASE_URL, { discovery, extensions: [signIn] })
const offer = testOffer({
  challengeId: `http-${'a'.repeat(46)}`,
  requestId: '5f0c7a56-4f40-4b7e-9d43-1c7a4d1f4b6e',
  resourceId: 'europe-west-forecast',
  salt: 's'.repeat(22),
  description: 'Hourly forecasts. '.repeat(16),
  rails: sixRails.map((rail) => offeredOn(rail, '1000000', rail.payTo)),
})

const { sign } = createReceiptSigner(
  receiptKeys(parseSecretKeys('a secret of thirty-two or more characters').receipts, null),
  BASE_URL,
)
const bytesOf = (headers: Readonly<Record<string, string>>) =>
  Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0)

test('the headers of a 402 with six rails stay well below 8 KiB', () => {
  const { headers } = render.outcome({ kind: 'challenge', offer })
  expect(bytesOf(headers)).toBeLessThan(8 * 1024 - 400)
  expect(headers['www-authenticate']!.match(/method="evm"/g)!.length).toBeGreaterThanOrEqual(2)
})

test('with signed offers too, of which as many are signed as fit, and at least the first', () => {
  for (const [count, signed] of [
    [1, 1],
    [2, 2],
    [6, 1],
  ] as const) {
    const rails = offer.rails.slice(0, count)
    const signing = createOutcomeRenderer(dialects, BASE_URL, {
      discovery,
      extensions: [signIn, signedOffers(sign, BASE_URL)],
    })
    const { headers } = signing.outcome({ kind: 'challenge', offer: { ...offer, rails } })
    const required = decodeJsonObject(headers['payment-required']!) as {
      extensions: { 'offer-receipt': { info: { offers: unknown[] } } }
    }
    expect(required.extensions['offer-receipt'].info.offers).toHaveLength(signed)
    expect(bytesOf(headers)).toBeLessThan(8 * 1024)
  }
})

test('only its first entry repeats the description; every one has what a buyer must echo', () => {
  const { accepts } = x402.paymentRequired(offer)
  expect(accepts.map(({ extra }) => extra.description !== undefined)).toEqual([
    ...[true, false, false],
    ...[false, false, false],
  ])
  for (const { extra } of accepts) {
    const { challengeId, requestId, resourceId, salt } = offer
    expect(extra).toMatchObject({ planId: 'basic', challengeId, requestId, resourceId, salt, version: '2' })
  }
})

const call = (path: string): Partial<Offer> => ({
  ...{ kind: 'route', itemId: 'weather', resource: { method: 'GET', path } },
})
const LONGEST = `/weather/paris?q=${'a'.repeat(4096 - '/weather/paris?q='.length)}`

describe.each([1, 6])('with %i rails', (count) => {
  describe.each([false, true])('with signed offers: %s', (isSigned) => {
    test.each<[string, string, Partial<Offer>]>([
      ...['a', 'я', '天', '\u0001', '"'].map((character): [string, string, Partial<Offer>] => [
        `a description of ${JSON.stringify(character)}`,
        character.repeat(1024),
        {},
      ]),
      ['a call', '天'.repeat(1024), call('/weather/paris?q=1')],
      ['the longest call', '天'.repeat(1024), call(LONGEST)],
      ['the longest signed call', '天'.repeat(1024), call(LONGEST.slice(0, 1024 - BASE_URL.length))],
    ])('%s is paid by the official client, which repeats all of it', async (_what, description, change) => {
      const [first] = sixRails
      const rails = offer.rails.slice(0, count)
      const offered = { ...offer, ...change, rails, description }
      const extensions = [signIn, ...(isSigned ? [signedOffers(sign, BASE_URL)] : [])]
      const { outcome, failure } = createOutcomeRenderer(dialects, BASE_URL, { discovery, extensions })
      const { headers, body } = outcome({ kind: 'challenge', offer: offered })
      const refused = failure(new GatewayError('PAYMENT_FAILED', 'no'), { offer: offered })
      const isShort = (change.resource?.path.length ?? 0) < 100
      for (const one of isShort ? [headers, refused.headers] : []) expect(bytesOf(one)).toBeLessThan(8 * 1024)
      const whole = JSON.parse(body!)
      expect([whole.resource.description, whole.accepts[0].extra.description]).toEqual([
        description,
        description,
      ])
      for (const told of [headers, refused.headers]) {
        let sent = ''
        const seller = async (...sentBy: Parameters<typeof fetch>) => {
          sent = new Request(...sentBy).headers.get('payment-signature') ?? ''
          return sent === '' ? new Response(body, { status: 402, headers: told }) : Response.json({})
        }
        const client = new x402Client().register(
          first!.network.id as `eip155:${number}`,
          new ExactEvmScheme(privateKeyToAccount(`0x${'42'.repeat(32)}`)),
        )
        await wrapFetchWithPayment(seller as typeof fetch, client)(`${BASE_URL}/x402/access`)
        expect(Buffer.from(sent, 'base64').length).toBeLessThan(8 * 1024)
        expect(dialects.x402.readHeader(sent)).toMatchObject({ echo: { challengeId: offer.challengeId } })
        const { accepts, resource } = decodeJsonObject(told['payment-required']!)!
        const echoed = decodeJsonObject(sent)!
        expect([echoed.accepted, echoed.resource]).toEqual([(accepts as unknown[])[0], resource])
      }
    })
  })
})

test('the official client pays the entry of the network that it may pay on', async () => {
  const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)
  for (const { network } of sixRails) {
    const sent: string[] = []
    const seller = async (...sentBy: Parameters<typeof fetch>) => {
      const header = new Request(...sentBy).headers.get('payment-signature')
      if (header !== null) {
        sent.push(header)
        return Response.json({})
      }
      const { status, headers, body } = render.outcome({ kind: 'challenge', offer })
      return new Response(body, { status, headers })
    }
    const client = new x402Client().register(network.id as `eip155:${number}`, new ExactEvmScheme(account))
    const answer = await wrapFetchWithPayment(seller as typeof fetch, client)(`${BASE_URL}/x402/access`, {
      method: 'POST',
    })
    expect(answer.status).toBe(200)
    const { accepted } = decodeJsonObject(sent[0]!) as { accepted: PaymentRequired['accepts'][number] }
    expect(accepted).toEqual(x402.paymentRequired(offer).accepts.find((one) => one.network === network.id))
    expect(x402.readHeader(sent[0]!)).toMatchObject({ rail: expect.stringContaining(`${network.id}/`) })
  }
})
