import type { ServerResponse } from 'node:http'
import { setTimeout as turn } from 'node:timers/promises'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ROUTES, type RoutesWorld, startRoutesWorld, sunny } from '../e2e/routes-world.ts'
import { offeredIn, proofHeader, SIGN_IN } from '../e2e/sign-in-client.ts'
import { PRICE, TOKEN_SECRET } from '../e2e/world.ts'

const routes = ROUTES.map((route) => ('free' in route ? route : { ...route, credits: 1 }))
const plans = [{ planId: 'basic', unitAmount: '$1.00', credits: 100 }]
const REMAINING = 'x-svc-credits-remaining'

function answerJson(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

describe('attacks on credits', () => {
  let shop: RoutesWorld
  beforeAll(async () => {
    shop = await startRoutesWorld({ options: { routes, plans } })
  })
  afterAll(() => shop.stop())
  beforeEach(() => {
    shop.backend.seen.length = 0
    shop.backend.answer = sunny
  })

  async function buy() {
    const buyer = await shop.world.chain.newBuyer({ micro: PRICE })
    const { accessToken } = (await shop.world.buy(buyer)).body
    return { buyer, token: accessToken! }
  }
  const call = (token: string, headers: Record<string, string> = {}, target = '/weather/paris') =>
    shop.call(target, { headers: { authorization: `Bearer ${token}`, ...headers } })
  /** What is left, told by one more call. */
  const left = async (token: string) => Number((await call(token)).headers.get(REMAINING))
  const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
  const forge = (claims: object, secret: string) =>
    new SignJWT({ ...claims }).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret))

  test('attack 50: a token that is forged, expired or of another purchase debits nobody', async () => {
    const [mine, other] = [await buy(), await buy()]
    const claims = claimsOf(mine.token)
    const seconds = Math.floor(Date.now() / 1000)
    const forged = [
      await forge(claims, 'another secret of more than thirty-two bytes'),
      await forge({ ...claims, exp: seconds - 60 }, TOKEN_SECRET),
      `${mine.token.slice(0, -4)}AAAA`,
      mine.token.split('.').slice(0, 2).join('.'),
      'x',
      // Even who could sign: a purchase belongs to the account that made it.
      await forge({ ...claims, jti: claimsOf(other.token).jti }, TOKEN_SECRET),
      await forge({ ...claims, jti: 'http-unknown' }, TOKEN_SECRET),
    ]
    for (const token of forged) expect((await call(token)).status, token).toBe(401)
    expect(shop.backend.seen.length).toBe(0)
    expect([await left(mine.token), await left(other.token)]).toEqual([99, 99])
  })

  test('attack 51: more calls at once than there are credits are served as often as there are', async () => {
    const { token } = await buy()
    const answers = await Promise.all(Array.from({ length: 150 }, () => call(token)))
    expect(answers.filter(({ status }) => status === 200).length).toBe(100)
    expect(answers.filter(({ status }) => status === 402).length).toBe(50)
    expect(shop.backend.seen.length).toBe(100)
  })

  test('attack 52: an Idempotency-Key opens no other account’s answer, and no other call', async () => {
    const [mine, other] = [await buy(), await buy()]
    const key = { 'idempotency-key': 'k-1' }
    shop.backend.answer = (_seen, response) => answerJson(response, 'only for me')
    expect((await call(mine.token, key)).status).toBe(200)
    shop.backend.answer = (_seen, response) => answerJson(response, 'only for the other')
    const theirs = await call(other.token, key)
    expect(JSON.stringify(theirs.body)).toContain('only for the other')
    expect(shop.backend.seen.length).toBe(2)
    expect(await call(mine.token, key, '/weather/rome')).toMatchObject({
      status: 409,
      body: { code: 'IDEMPOTENCY_CONFLICT' },
    })
    expect(shop.backend.seen.length).toBe(2)
    expect([await left(mine.token), await left(other.token)]).toEqual([98, 98])
  })

  test('attack 53: who hangs up before the answer is debited all the same', async () => {
    const { token } = await buy()
    const answering = new Promise<void>((asked) => {
      shop.backend.answer = (seen, response) => {
        asked()
        setTimeout(() => sunny(seen, response), 200)
      }
    })
    const impatient = new AbortController()
    const headers = { authorization: `Bearer ${token}` }
    const asked = fetch(`${shop.world.baseUrl}/weather/paris`, { headers, signal: impatient.signal })
    const gone = expect(asked).rejects.toThrow()
    await answering
    impatient.abort()
    await gone
    shop.backend.answer = sunny
    // The debit comes with the answer; until then it is reserved, so it never shows as left.
    await turn(400)
    expect(await left(token)).toBe(98)
  })

  test('attack 54: an account whose calls keep failing is refused before the backend is asked', async () => {
    const { token } = await buy()
    shop.backend.answer = (_seen, response) => void response.writeHead(500).end()
    const statuses: number[] = []
    for (let index = 0; index < 130; index++) statuses.push((await call(token)).status)
    expect(statuses).toContain(429)
    // Each minute on the clock allows so many, and the test may meet two of them.
    expect(shop.backend.seen.length).toBeLessThanOrEqual(120)
  })

  test('attack 55: a sign-in that spent once spends no more, by whomever it is shown', async () => {
    const { buyer, token } = await buy()
    const { body } = await shop.call('/resource/default')
    const offer = offeredIn(body)
    const uri = `${shop.world.baseUrl}/weather/paris`
    const header = await proofHeader(offer, buyer, { uri })
    const enter = () => shop.call('/weather/paris', { headers: { [SIGN_IN]: header } })
    const answers = await Promise.all(Array.from({ length: 10 }, enter))
    expect(answers.filter(({ status }) => status === 200).length).toBe(1)
    expect(answers.filter(({ status }) => status === 401).length).toBe(9)
    const thief = await shop.world.chain.newBuyer({ micro: PRICE })
    const own = await proofHeader(offer, thief, { uri, nonce: 'cd'.repeat(16), address: buyer.address })
    expect((await shop.call('/weather/paris', { headers: { [SIGN_IN]: own } })).status).not.toBe(200)
    expect(await left(token)).toBe(98)
  })
})
