import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { encodeJson } from '../protocol/base64.ts'
import { findNetwork } from '../protocol/networks.ts'
import { type BuyerOptions, createBuyer, memoryStorage } from './index.ts'

const testnet = findNetwork('testnet')!
const account = privateKeyToAccount(generatePrivateKey())
const base = 'https://api.example.com'
const url = `${base}/weather`
const keyed = { headers: { 'idempotency-key': 'mine' } }
const catalog = {
  plans: [{ planId: 'calls', unitAmount: '$0.50', credits: 10 }],
  routes: [{ routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01', credits: 1 }],
}

/** A gateway that debits each key once, and buyers with one storage that have bought its plan. */
async function scene() {
  const debited = new Set<string>()
  const paid: string[] = []
  const state = {
    catalog: (): Response => Response.json(catalog),
    /** What becomes of the answer to a call that was debited. */
    onTheWay: (answer: Response, _key: string): Response => answer,
  }
  const required = encodeJson({
    x402Version: 2,
    accepts: [
      {
        ...{ scheme: 'exact', network: testnet.id, asset: testnet.token.address, amount: '10000' },
        payTo: `0x${'22'.repeat(20)}`,
      },
    ],
  })
  const gateway: typeof fetch = async (input, init) => {
    const { pathname } = new URL(String(input))
    const headers = new Headers(init?.headers)
    const key = headers.get('idempotency-key')!
    const isPaid = headers.has('payment-signature')
    if (pathname === '/discover') return state.catalog()
    if (pathname === '/free') return new Response('free')
    if (isPaid && pathname === '/x402/access')
      return Response.json({ type: 'AccessGrant', accessToken: 'token', txHash: '0xab' })
    if (isPaid) {
      paid.push(key)
      return new Response('paid')
    }
    if (headers.get('authorization') !== 'Bearer token')
      return new Response('{}', { status: 402, headers: { 'payment-required': required } })
    debited.add(key)
    const charged = { 'x-svc-credits-charged': '1', 'x-svc-credits-remaining': String(10 - debited.size) }
    return state.onTheWay(new Response('prepaid', { headers: charged }), key)
  }
  const clock = {
    nowMs: 1_800_000_000_000,
    now: () => clock.nowMs,
    async sleep(ms: number) {
      clock.nowMs += ms
    },
  }
  const storage = memoryStorage()
  const buyer = (options: Partial<BuyerOptions> = {}) =>
    createBuyer({
      ...{ account, maxAmount: '$1.00', fetch: gateway, clock, storage, maxWaitSeconds: 1 },
      ...options,
    })
  await buyer().buy(base, { planId: 'calls' })
  const lost = () => {
    throw new TypeError('the connection broke')
  }
  return { state, debited, paid, buyer, clock, lost }
}
const textOf = async (answer: Promise<Response>) => (await answer).text()

describe('a call that may have been debited is not paid for', () => {
  test.each<[string, () => Response]>([
    ['is overloaded', () => new Response('', { status: 503 })],
    ['is hidden by a load balancer', () => new Response('no backend', { status: 404 })],
    [
      'cannot be reached',
      () => {
        throw new TypeError('fetch failed')
      },
    ],
  ])('while /discover %s: another process makes the same call later', async (_name, away) => {
    const { state, debited, paid, buyer, lost } = await scene()
    state.onTheWay = lost
    await expect(buyer().fetch(url, keyed)).rejects.toMatchObject({ code: 'STILL_PENDING' })
    state.onTheWay = (answer) => answer
    state.catalog = away
    const later = buyer()
    expect(await textOf(later.fetch(`${base}/free`)), 'what is free').toBe('free')
    await expect(later.fetch(url, keyed)).rejects.toMatchObject({
      code: 'STILL_PENDING',
      message: expect.stringMatching(/plan calls.*Nothing was paid.*same Idempotency-Key.*credits: "off"/),
    })
    await expect(buyer({ credits: 'buy' }).fetch(url, keyed)).rejects.toMatchObject({ code: 'STILL_PENDING' })
    state.catalog = () => Response.json(catalog)
    expect(await textOf(later.fetch(url, keyed)), 'asked again at once').toBe('prepaid')
    expect([[...debited], paid]).toEqual([['mine'], []])
  })

  test.each([401, 302])('when a proxy answers %i to its repetition', async (status) => {
    const { state, debited, paid, buyer, lost } = await scene()
    let isLost = true
    state.onTheWay = () => {
      if (isLost) {
        isLost = false
        return lost()
      }
      return new Response('', { status, headers: { location: '/login' } })
    }
    const one = buyer({ maxWaitSeconds: 30 })
    await expect(one.fetch(url)).rejects.toMatchObject({ code: 'STILL_PENDING' })
    await expect(one.fetch(url), 'the next call').rejects.toMatchObject({ code: 'STILL_PENDING' })
    await expect(buyer().fetch(url, { headers: { 'idempotency-key': [...debited][0]! } })).rejects.toThrow()
    state.onTheWay = (answer) => answer
    expect(await textOf(one.fetch(url))).toBe('prepaid')
    expect([debited.size, paid]).toEqual([1, []])
  })

  test('by a buyer that owns no credits there, or uses none, it is', async () => {
    const { state, paid, buyer } = await scene()
    state.catalog = () => new Response('', { status: 503 })
    expect(await textOf(buyer({ storage: memoryStorage() }).fetch(url, keyed))).toBe('paid')
    expect(await textOf(buyer({ credits: 'off' }).fetch(url, keyed))).toBe('paid')
    expect(paid).toHaveLength(2)
  })
})

describe('without a key of its own, the next call has the key of one that may have been debited', () => {
  test('when something in front of the gateway answers its repetition', async () => {
    const { state, debited, buyer, lost } = await scene()
    const answers = [lost, () => new Response('no backend', { status: 404 })]
    state.onTheWay = (answer) => answers.shift()?.() ?? answer
    const one = buyer({ maxWaitSeconds: 30 })
    expect((await one.fetch(url)).status).toBe(404)
    expect(await textOf(one.fetch(url))).toBe('prepaid')
    expect(debited.size).toBe(1)
    await one.fetch(url)
    expect(debited.size).toBe(2)
  })

  test('when others of the same kind, made beside it, have succeeded', async () => {
    const { state, debited, paid, buyer, lost } = await scene()
    const one = buyer()
    let answered: string | undefined
    state.onTheWay = (answer, key) => {
      answered ??= key
      return key === answered ? answer : lost()
    }
    const ends = await Promise.allSettled([1, 2, 3].map(() => one.fetch(url)))
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(2)
    state.onTheWay = (answer) => answer
    await one.fetch(url)
    await one.fetch(url)
    expect([debited.size, paid]).toEqual([3, []])
  })
})
