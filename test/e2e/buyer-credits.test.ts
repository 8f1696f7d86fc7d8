import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type BuyerOptions, type BuyerStep, createBuyer, fileStorage } from '../../src/buyer/index.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { CALL_PRICE, ROUTES, type RoutesWorld, startRoutesWorld, sunny } from './routes-world.ts'
import { PRICE } from './world.ts'

const routes = ROUTES.map((route) => ('free' in route ? route : { ...route, credits: 1 }))
const plans = [{ planId: 'basic', unitAmount: '$1.00', credits: 5 }]

let shop: RoutesWorld
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-buyer-credits-'))
  shop = await startRoutesWorld({ store: 'embedded', options: { routes, plans } })
})
afterAll(async () => {
  await shop.stop()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  shop.backend.seen.length = 0
  shop.backend.answer = sunny
})

const newBuyer = () => shop.world.chain.newBuyer({ micro: 10n * PRICE })

function buyerOf({ account, address }: DevAccount, options: Partial<BuyerOptions> = {}) {
  const steps: BuyerStep[] = []
  const buyer = createBuyer({
    account,
    maxAmount: '$1.00',
    rpcUrls: { [shop.world.chain.network]: shop.world.chain.rpcUrl },
    onStep: (step) => steps.push(step),
    ...options,
  })
  const call = (path = '/weather/paris', init: RequestInit = {}) =>
    buyer.fetch(shop.world.baseUrl + path, init)
  return {
    buyer,
    call,
    /** Calls one after the other; what each had left. */
    async calls(count: number) {
      const left: Array<string | null> = []
      for (let made = 0; made < count; made++) {
        const answer = await call()
        expect(answer.status).toBe(200)
        left.push(answer.headers.get('x-svc-credits-remaining'))
      }
      return left
    },
    names: () => steps.map(({ step }) => step),
    paid: async () => (await shop.world.flows({ address })).paid,
  }
}

test('spends what it owns without a payment, then pays for single calls; it buys no plan unasked', async () => {
  const { buyer, calls, paid } = buyerOf(await newBuyer())
  expect(await calls(1), 'nothing is owned yet').toEqual([null])
  await buyer.buy(shop.world.baseUrl, { planId: 'basic' })
  expect(await calls(7)).toEqual(['4', '3', '2', '1', '0', null, null])
  expect(await paid()).toEqual([CALL_PRICE, PRICE, CALL_PRICE, CALL_PRICE])
})

test('leaves the authorization of its caller alone, and with credits: "off" spends nothing', async () => {
  const owner = await newBuyer()
  const storage = fileStorage(join(folder, 'own-authorization'))
  const { buyer, call, calls } = buyerOf(owner, { storage })
  await buyer.buy(shop.world.baseUrl, { planId: 'basic' })
  const refused = await call('/weather/paris', { headers: { authorization: 'Bearer mine' } })
  expect(refused.status).toBe(401)
  expect(await buyerOf(owner, { storage, credits: 'off' }).calls(1)).toEqual([null])
  expect(await calls(1)).toEqual(['4'])
})

describe('with credits: "buy"', () => {
  test('buys the plan when it has none and whenever it is empty, within maxTotal; then says what the limit was', async () => {
    const { calls, call, paid } = buyerOf(await newBuyer(), {
      credits: 'buy',
      maxAmount: '$0.01',
      maxPlanAmount: '$1.00',
      maxTotal: '$2.00',
    })
    expect(await calls(10)).toEqual(['4', '3', '2', '1', '0', '4', '3', '2', '1', '0'])
    expect(await paid()).toEqual([PRICE, PRICE])
    await expect(call()).rejects.toMatchObject({
      code: 'OVER_TOTAL',
      message: expect.stringMatching(/another \$0\.01 .*maxTotal.* Nor was credit bought: .*another \$1\.00/),
    })
    expect(await paid()).toEqual([PRICE, PRICE])
  })

  test('a plan above maxPlanAmount is not bought: the call is paid for, or refused if that is too much as well', async () => {
    const limits = { credits: 'buy', maxPlanAmount: '$0.50' } as const
    const one = buyerOf(await newBuyer(), { ...limits, maxAmount: '$0.01' })
    expect(await one.calls(1)).toEqual([null])
    expect(await one.paid()).toEqual([CALL_PRICE])
    const other = buyerOf(await newBuyer(), { ...limits, maxAmount: '$0.001' })
    await expect(other.call()).rejects.toMatchObject({
      code: 'OVER_LIMIT',
      message: expect.stringMatching(
        /the plan basic costs \$1\.00 and the limit is \$0\.50; raise maxPlanAmount/,
      ),
    })
    expect(await other.paid()).toEqual([])
  })

  test('calls that come together cause one purchase', async () => {
    const { call, paid } = buyerOf(await newBuyer(), { credits: 'buy' })
    const answers = await Promise.all(Array.from({ length: 5 }, () => call()))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(await paid()).toEqual([PRICE])
    expect(shop.backend.seen).toHaveLength(5)
  })

  test('two buyers that share a folder cause one purchase', async () => {
    const owner = await newBuyer()
    const open = () => buyerOf(owner, { credits: 'buy', storage: fileStorage(join(folder, 'shared')) })
    const [one, other] = [open(), open()]
    const answers = await Promise.all([one.call(), other.call(), one.call(), other.call()])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await one.paid()).toEqual([PRICE])
  })

  test('a wallet that lost its storage signs in and goes on with what it bought', async () => {
    const owner = await newBuyer()
    expect(await buyerOf(owner, { credits: 'buy' }).calls(2)).toEqual(['4', '3'])
    const again = buyerOf(owner, { credits: 'buy' })
    expect(await again.calls(3)).toEqual(['2', '1', '0'])
    expect(await again.paid()).toEqual([PRICE])
    // What is found by signing in and empty was not bought for this call.
    const third = buyerOf(owner, { credits: 'buy' })
    expect(await third.calls(1)).toEqual(['4'])
    expect(await third.paid()).toEqual([PRICE, PRICE])
  })
})

/** A buyer in a process of its own, killed when its payment is signed: before it is sent, or when it was answered. */
const DOOMED = `
import { createBuyer, fileStorage } from ${JSON.stringify(new URL('../../dist/buyer/index.js', import.meta.url).href)}
import { privateKeyToAccount } from 'viem/accounts'
const { KEY, FOLDER, URL_TO_CALL, WHEN } = process.env
const die = () => process.kill(process.pid, 'SIGKILL')
const buyer = createBuyer({
  account: privateKeyToAccount(KEY),
  maxAmount: '$1.00',
  credits: 'buy',
  storage: fileStorage(FOLDER),
  async fetch(url, init) {
    const isPaid = new Headers(init?.headers).has('payment-signature')
    if (isPaid && WHEN === 'before') die()
    const answer = await fetch(url, init)
    if (isPaid) die()
    return answer
  },
})
await buyer.fetch(URL_TO_CALL)
`

test.each(['before', 'after'])(
  'killed %s its payment was sent, it gets the token of that payment',
  async (when) => {
    const owner = await newBuyer()
    const storage = join(folder, `killed-${when}`)
    const child = spawn(process.execPath, ['--input-type=module', '-e', DOOMED], {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {
        PATH: process.env.PATH ?? '',
        KEY: owner.privateKey,
        FOLDER: storage,
        URL_TO_CALL: `${shop.world.baseUrl}/weather/paris`,
        WHEN: when,
      },
    })
    const [, signal] = await once(child, 'exit')
    expect(signal).toBe('SIGKILL')
    // Not even asked to buy: what was signed is finished.
    const { calls, paid, names } = buyerOf(owner, { storage: fileStorage(storage) })
    expect(await calls(2)).toEqual(['4', '3'])
    expect(await paid()).toEqual([PRICE])
    expect(names()).not.toContain('sign')
  },
)

test('an answer that is lost is asked for again under the same key, and debited once', async () => {
  let losses = 0
  const { buyer, call } = buyerOf(await newBuyer(), {
    async fetch(input, init) {
      const answer = await fetch(input, init)
      if (!answer.headers.has('x-svc-credits-charged') || losses === 2) return answer
      losses++
      await answer.body?.cancel()
      throw new TypeError('the connection broke')
    },
  })
  await buyer.buy(shop.world.baseUrl, { planId: 'basic' })
  const answer = await call()
  expect(answer.headers.get('x-svc-credits-remaining')).toBe('4')
  expect(answer.headers.get('x-svc-code')).toBe('CALL_ALREADY_DEBITED')
  expect(losses).toBe(2)
  expect(shop.backend.seen).toHaveLength(1)
})
