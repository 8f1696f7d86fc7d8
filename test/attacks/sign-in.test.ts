import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeJson } from '../../src/protocol/base64.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { offeredIn, proofHeader, SIGN_IN, signedProof } from '../e2e/sign-in-client.ts'
import { PRICE, startWorld, type World } from '../e2e/world.ts'

describe('attack 47: a sign-in that is not the buyer’s own', () => {
  let world: World
  let buyer: DevAccount
  let thief: DevAccount
  let token: string
  beforeAll(async () => {
    world = await startWorld()
    buyer = await world.chain.newBuyer({ micro: 3n * PRICE })
    thief = await world.chain.newBuyer({ micro: PRICE })
    token = (await world.buy(buyer)).body.accessToken!
  })
  afterAll(async () => {
    // Whatever was tried: nobody paid but the buyer, once.
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    expect(await world.flows(thief)).toEqual({ paid: [], refunded: [] })
    await world.stop()
  })

  const offer = async () => offeredIn(await world.terms())
  const enter = async (header: string, body: object = { planId: 'basic' }) => {
    const answer = await world.access(body, { [SIGN_IN]: header })
    if (answer.status !== 200) expect(JSON.stringify(answer.body)).not.toContain(token)
    return answer
  }
  const REFUSED = { status: 401, body: { type: 'Error', code: 'UNAUTHORIZED' } }
  const minutes = (count: number) => new Date(Date.now() + count * 60_000).toISOString()

  test('attack 47: the buyer’s own proof is good once, however many show it at once', async () => {
    const header = await proofHeader(await offer(), buyer)
    const answers = await Promise.all(Array.from({ length: 20 }, () => enter(header)))
    const entered = answers.filter(({ status }) => status === 200)
    expect(entered.map(({ body }) => body.accessToken)).toEqual([token])
    for (const { status } of answers) expect([200, 401]).toContain(status)
    expect(await enter(header)).toMatchObject(REFUSED)
  })

  test('attack 47: a proof is used up even where it opens nothing, so that nobody keeps it for later', async () => {
    const header = await proofHeader(await offer(), buyer)
    expect((await enter(header, { planId: 'pro' })).status).toBe(402)
    expect(await enter(header)).toMatchObject(REFUSED)
  })

  test.each<[string, () => object]>([
    ['another domain', () => ({ domain: 'evil.example', uri: 'http://evil.example/x402/access' })],
    ['another path', () => ({ uri: `${world.baseUrl}/resource/default` })],
    ['the future', () => ({ issuedAt: minutes(2) })],
    ['long ago', () => ({ issuedAt: minutes(-6) })],
    ['a time that has passed', () => ({ expirationTime: minutes(-1) })],
    ['a time that is to come', () => ({ notBefore: minutes(1) })],
    ['an unknown chain', () => ({ chainId: 'eip155:1' })],
  ])('attack 47: one that was signed for %s is refused', async (_what, change) => {
    expect(await enter(await proofHeader(await offer(), buyer, change()))).toMatchObject(REFUSED)
  })

  test('attack 47: another wallet’s signature, or a field changed after it, is refused', async () => {
    const own = await signedProof(await offer(), thief)
    expect(await enter(encodeJson({ ...own, address: buyer.address }))).toMatchObject(REFUSED)
    const good = await signedProof(await offer(), buyer)
    for (const change of [
      { nonce: '0'.repeat(32) },
      { issuedAt: minutes(-1) },
      { statement: 'more' },
      { resources: [good.uri] },
      { signature: `0x${'00'.repeat(65)}` },
      { signature: `0x${'11'.repeat(2048)}` },
    ]) {
      expect(await enter(encodeJson({ ...good, ...change })), JSON.stringify(change)).toMatchObject(REFUSED)
    }
    expect((await enter(encodeJson(good))).status, 'none of them used it up').toBe(200)
  })

  test('attack 47: a Host header does not make another origin ours', async () => {
    const evil = { domain: 'evil.example', uri: 'http://evil.example/x402/access' }
    const header = await proofHeader(await offer(), buyer, evil)
    const answer = await world.access(
      { planId: 'basic' },
      { [SIGN_IN]: header, 'x-forwarded-host': 'evil.example' },
    )
    expect(answer).toMatchObject(REFUSED)
  })

  test('attack 47: malformed, doubled and oversized headers get a sentence and a new offer', async () => {
    const good = await proofHeader(await offer(), buyer)
    for (const header of [
      '%%%',
      '',
      encodeJson([]),
      `${good}, ${good}`,
      encodeJson({ a: 'x'.repeat(9000) }),
    ]) {
      const answer = await enter(header)
      expect(answer).toMatchObject(REFUSED)
      expect(offeredIn(answer.body).info.uri).toBe(`${world.baseUrl}/x402/access`)
    }
  })

  test('attack 47: what the thief owns is nothing: terms, and no token', async () => {
    const answer = await enter(await proofHeader(await offer(), thief))
    expect([answer.status, answer.body.accessToken]).toEqual([402, undefined])
    const elsewhere = { planId: 'basic', resourceId: 'other' }
    expect((await enter(await proofHeader(await offer(), buyer), elsewhere)).status).toBe(402)
  })

  test('attack 47: a proof beside a payment is a payment', async () => {
    const header = await proofHeader(await offer(), buyer)
    const broken = await world.access({ planId: 'basic' }, { [SIGN_IN]: header, 'payment-signature': 'none' })
    expect(broken).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    expect((await enter(header)).status, 'and the proof was not looked at').toBe(200)
  })
})

test('attack 47: an expired plan opens nothing, and proofs count as requests without payment', async () => {
  const world = await startWorld({ options: { tokenTtlSeconds: 3, rateLimitPerMinute: 12 } })
  try {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const { body } = await world.buy(buyer)
    const offered = offeredIn(await world.terms())
    while (Date.now() < Date.parse(body.expiresAt!)) await new Promise((turn) => setTimeout(turn, 50))
    const header = await proofHeader(offered, buyer)
    expect((await world.access({ planId: 'basic' }, { [SIGN_IN]: header })).status).toBe(402)
    const statuses = new Set<number>()
    for (let tries = 0; tries < 12; tries++)
      statuses.add((await world.access({ planId: 'basic' }, { [SIGN_IN]: header })).status)
    expect([...statuses]).toEqual([401, 429])
  } finally {
    await world.stop()
  }
})
