import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { withResolvers } from '../../src/engine/signals.ts'
import { decodeJsonObject, encodeJson } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { METERED_APPS, type MeteredSeller } from './metered-apps.ts'
import { startWorld, type World } from './world.ts'

const MAX = 20_000n
const POST = { method: 'POST' }
const hello: MeteredSeller['answer'] = async () => ({ status: 200, body: { text: 'hello' } })
const seller: MeteredSeller = { runs: [], answer: hello }
const urls = new Map<string, string>()

let world: World
beforeAll(async () => {
  // One gateway inside all of them: what is tested is how each hands its handler's answer over.
  world = await startWorld({
    options: {
      routes: [
        {
          ...{
            routeId: 'chat',
            method: 'POST',
            path: '/chat',
            scheme: 'upto',
            maxAmount: '$0.02',
            raw: true,
          },
          stream: { maxUnpaidPerPayer: '$0.04', maxUnpaid: '$1' },
        },
      ],
      requestTimeoutSeconds: 4,
    },
    async serve(gateway) {
      const apps: Array<{ close(): Promise<void> }> = []
      for (const { name, start } of METERED_APPS) {
        const app = await start(gateway, seller)
        urls.set(name, `${app.url}/chat`)
        apps.push(app)
      }
      return { close: async () => void (await Promise.all(apps.map((app) => app.close()))) }
    },
  })
})
afterAll(() => world.stop())

describe.each(METERED_APPS)('metered calls of a handler in $name', ({ name }) => {
  let url: string
  beforeEach(() => {
    url = urls.get(name)!
    seller.runs.length = 0
    seller.answer = hello
    world.alerts.length = 0
  })

  async function newBuyer(): Promise<DevAccount> {
    const buyer = await world.chain.newBuyer({ micro: 5n * MAX })
    await approvePermit2(world.chain, buyer)
    return buyer
  }
  const spent = async (buyer: DevAccount) => 5n * MAX - (await world.chain.balanceOf(buyer.address))
  const settledBy = ({ headers }: Response) => decodeJsonObject(headers.get('payment-response') ?? '')

  /** The header of a payment that the official client signs for these terms. */
  async function sign(buyer: DevAccount): Promise<RequestInit> {
    const offered = await fetch(url, POST)
    expect(offered.status).toBe(402)
    const { accepts } = decodeJsonObject(
      offered.headers.get('payment-required')!,
    ) as unknown as PaymentRequired
    const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, accepts[0] as never)
    const header = encodeJson({ x402Version: 2, accepted: accepts[0], payload })
    return { ...POST, headers: { 'payment-signature': header } }
  }

  test('the official client pays what the handler says, by the function, by the header or not at all', async () => {
    const buyer = await newBuyer()
    const client = new x402Client().register('eip155:*', new UptoEvmScheme(buyer.account))
    const call = () => wrapFetchWithPayment(fetch, client)(url, POST)
    seller.answer = async (charge) => {
      charge?.('$0.01')
      charge?.('1858')
      return { status: 201, headers: { 'x-seller': 'own' }, body: { text: 'hello' } }
    }
    const first = await call()
    expect([first.status, await first.json()]).toEqual([201, { text: 'hello' }])
    expect(settledBy(first)).toMatchObject({
      ...{ success: true, amount: '1858', payer: buyer.address.toLowerCase() },
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    const { headers } = first
    expect([headers.get('x-seller'), headers.get('cache-control')]).toEqual(['own', 'no-store, private'])
    expect(headers.get('access-control-allow-origin')).toBe('https://shop.example')
    expect(seller.runs[0]).toMatchObject({ routeId: 'chat', txHash: '', amount: '20000' })
    expect(await spent(buyer)).toBe(1858n)

    const overrides = { 'settlement-overrides': '{"amount":"50%"}' }
    seller.answer = async () => ({ status: 200, headers: overrides, body: {} })
    const second = await call()
    expect(settledBy(second)).toMatchObject({ success: true, amount: '10000' })
    expect(second.headers.get('settlement-overrides')).toBeNull()

    seller.answer = hello
    expect(settledBy(await call())).toMatchObject({ success: true, amount: '20000' })
    expect(await spent(buyer)).toBe(1858n + 10_000n + 20_000n)
    expect(seller.runs.length).toBe(3)
  })

  test('a handler that fails or throws costs nothing; the same payment calls again, and then has its answer', async () => {
    const buyer = await newBuyer()
    const paid = await sign(buyer)
    seller.answer = async (charge) => {
      charge?.(7)
      return { status: 422, body: { oops: true } }
    }
    const failed = await fetch(url, paid)
    expect([failed.status, failed.headers.get('x-svc-code'), await failed.json()]).toEqual([
      ...[422, 'CALL_FAILED', { oops: true }],
    ])
    expect(settledBy(failed)).toMatchObject({ success: false, transaction: '' })
    seller.answer = async () => {
      throw new Error('the seller has a bug')
    }
    const thrown = await fetch(url, paid)
    expect([thrown.status, await thrown.text()]).toEqual([500, 'the app failed'])
    expect(await spent(buyer)).toBe(0n)

    seller.answer = async (charge) => {
      charge?.(7)
      return { status: 200, body: { text: 'at last' } }
    }
    const good = await fetch(url, paid)
    expect([good.status, await good.json()]).toEqual([200, { text: 'at last' }])
    const runs = seller.runs.length
    const again = await fetch(url, paid)
    expect([again.status, await again.json()]).toEqual([200, { text: 'at last' }])
    expect(settledBy(again)).toEqual(settledBy(good))
    expect(seller.runs.length).toBe(runs)
    expect(await spent(buyer)).toBe(7n)
  })

  test('an event stream goes out as it comes to a payer with a final charge, and waits for any other', async () => {
    const buyer = await newBuyer()
    const [first, last] = ['data: one\n\n', 'data: two\n\n']
    let gate = withResolvers<void>()
    seller.answer = async (charge) => ({
      ...{ status: 200, headers: { 'content-type': 'text/event-stream' }, body: null },
      events: (async function* () {
        yield first
        await gate.promise
        charge?.('5')
        yield last
      })(),
    })
    gate.resolve()
    let calls = 1n
    let answer = await fetch(url, await sign(buyer))
    expect(await answer.text()).toBe(first + last)
    while (answer.headers.has('payment-response')) {
      await world.chain.mine(2)
      await new Promise((later) => setTimeout(later, 200))
      answer = await fetch(url, await sign(buyer))
      await answer.text()
      calls++
    }
    gate = withResolvers()
    const paid = await sign(buyer)
    answer = await fetch(url, paid)
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://shop.example')
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader.read()).value).toBe(first)
    expect(await spent(buyer)).toBe(5n * calls)
    gate.resolve()
    let rest = ''
    for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value
    const [, words = ''] = /^: payment-response (\S+)$/m.exec(rest) ?? []
    expect(rest.startsWith(last)).toBe(true)
    expect(decodeJsonObject(words)).toMatchObject({ success: true, amount: '5' })
    expect(await (await fetch(url, paid)).text()).toBe(first + last)
    expect(await spent(buyer)).toBe(5n * (calls + 1n))
  })

  test('a charge that is no amount keeps the answer back', async () => {
    const buyer = await newBuyer()
    seller.answer = async (charge) => {
      charge?.('much')
      return { status: 200, headers: { 'x-seller': 'secret' }, body: { text: 'secret' } }
    }
    const kept = await fetch(url, await sign(buyer))
    expect(kept.headers.get('x-svc-code')).toBe('CALL_FAILED')
    expect((await kept.text()) + JSON.stringify([...kept.headers])).not.toContain('secret')
    expect(JSON.stringify(world.alerts)).toContain('is no amount')
    expect(await spent(buyer)).toBe(0n)
  })

  test('an answer that cannot be charged does not go out until it can', async () => {
    const buyer = await newBuyer()
    const paid = await sign(buyer)
    seller.answer = async (charge) => {
      await approvePermit2(world.chain, buyer, 0n)
      charge?.('1858')
      return { status: 200, headers: { 'x-seller': 'secret' }, body: { text: 'secret' } }
    }
    const unpaid = await fetch(url, paid)
    expect([unpaid.status, unpaid.headers.get('x-svc-code')]).toEqual([503, 'SETTLEMENT_PENDING'])
    expect((await unpaid.text()) + JSON.stringify([...unpaid.headers])).not.toContain('secret')
    expect(unpaid.headers.get('access-control-allow-origin')).not.toBeNull()
    await approvePermit2(world.chain, buyer, MAX)
    await expect.poll(async () => (await fetch(url, paid)).status, { timeout: 30_000 }).toBe(200)
    expect(await (await fetch(url, paid)).json()).toEqual({ text: 'secret' })
    expect([seller.runs.length, await spent(buyer)]).toEqual([1, 1858n])
  }, 60_000)

  test('one payment in five requests at once: the handler runs once, one charge, one answer', async () => {
    const buyer = await newBuyer()
    const paid = await sign(buyer)
    seller.answer = async (charge) => {
      charge?.('1858')
      return { status: 200, body: { run: seller.runs.length } }
    }
    const answers = await Promise.all(Array.from({ length: 5 }, () => fetch(url, paid)))
    for (const answer of answers) expect([answer.status, await answer.json()]).toEqual([200, { run: 1 }])
    expect(new Set(answers.map((answer) => settledBy(answer)?.transaction)).size).toBe(1)
    expect(seller.runs.length).toBe(1)
    expect(await spent(buyer)).toBe(1858n)
  })

  test('a handler that does not answer in time costs nothing, and what it answers later goes nowhere', async () => {
    const buyer = await newBuyer()
    const paid = await sign(buyer)
    const gate = withResolvers()
    seller.answer = async () => {
      await gate.promise
      return { status: 200, body: { text: 'late' } }
    }
    const late = await fetch(url, paid)
    expect([late.status, late.headers.get('x-svc-code')]).toEqual([504, 'CALL_FAILED'])
    expect(await late.text()).not.toContain('"late"')
    gate.resolve()
    seller.answer = hello
    const again = await fetch(url, paid)
    expect([again.status, await again.json()]).toEqual([200, { text: 'hello' }])
    expect(await spent(buyer)).toBe(MAX)
  })
})
