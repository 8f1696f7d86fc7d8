import { UptoEvmScheme } from '@x402/evm/upto/client'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { withResolvers } from '../../src/engine/signals.ts'
import { decodeJsonObject, encodeJson } from '../../src/protocol/base64.ts'
import type { Route } from '../../src/protocol/catalog.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { type RoutesWorld, startRoutesWorld } from './routes-world.ts'

const MAX = 20_000n
const PURSE = 20n * MAX
const chat = { method: 'POST', scheme: 'upto', maxAmount: '$0.02', raw: true } as const
const charge = { per: '/usage/total_tokens', unitAmount: '$0.000002' }
const ROUTES: Route[] = [
  {
    ...{ ...chat, routeId: 'chat', path: '/chat', charge },
    stream: { maxUnpaidPerPayer: '$0.04', maxUnpaid: '$0.06' },
  },
  { ...chat, routeId: 'whole', path: '/whole', charge },
]
const EVENTS = [
  'data: {"text":"hel"}\n\n',
  'data: {"text":"lo","usage":{"total_tokens":929}}\n\n',
  'data: [DONE]\n\n',
]

let shop: RoutesWorld
beforeAll(async () => {
  shop = await startRoutesWorld({ options: { routes: ROUTES } })
})
afterAll(() => shop.stop())

/** The backend sends the first event at once, and the others when the test says so. */
let go = withResolvers<'on' | 'break'>()
afterEach(() => {
  go.resolve('on')
  go = withResolvers()
})
function streamEvents(type = 'text/event-stream', trailer?: string): void {
  const { promise } = go
  shop.backend.answer = async (_call, response) => {
    response.writeHead(200, { 'content-type': type, ...(trailer && { trailer: 'Settlement-Overrides' }) })
    response.write(EVENTS[0])
    if ((await promise) === 'break') return response.destroy()
    if (trailer) response.addTrailers({ 'Settlement-Overrides': trailer })
    response.end(EVENTS.slice(1).join(''))
  }
}

const held = (buyer: DevAccount): Promise<bigint> => shop.world.chain.balanceOf(buyer.address)

async function newBuyer(): Promise<DevAccount> {
  const buyer = await shop.world.chain.newBuyer({ micro: PURSE })
  await approvePermit2(shop.world.chain, buyer)
  return buyer
}

async function sign(buyer: DevAccount, path = '/chat'): Promise<RequestInit> {
  const { accepts } = await shop.termsOf(path, { method: 'POST' })
  const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, accepts[0] as never)
  const header = encodeJson({ x402Version: 2, accepted: accepts[0], payload })
  return { method: 'POST', headers: { 'payment-signature': header } }
}

const send = (init: RequestInit, path = '/chat') => fetch(shop.world.baseUrl + path, init)

/** A buyer with a metered charge in a final block, which the gateway has noticed. */
async function trustedBuyer(): Promise<DevAccount> {
  const buyer = await newBuyer()
  for (;;) {
    shop.backend.answer = (_call, response) =>
      void response
        .writeHead(200, { 'content-type': 'text/event-stream', 'settlement-overrides': '{"amount":"1"}' })
        .end(EVENTS[0])
    const answer = await send(await sign(buyer))
    await answer.text()
    if (answer.headers.get('payment-response') === null) return buyer
    await shop.world.chain.mine(2)
    await new Promise((later) => setTimeout(later, 200))
  }
}

/** Reads until this many characters are there. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, length: number): Promise<string> {
  let text = ''
  while (text.length < length) {
    const { done, value } = await reader.read()
    if (done) break
    text += Buffer.from(value).toString()
  }
  return text
}

const lastWords = (text: string) => {
  const [, encoded] = /^: payment-response (\S+)$/m.exec(text) ?? []
  return encoded === undefined ? undefined : decodeJsonObject(encoded)
}

test('an unknown payer gets its answer once it is paid, with the charge from its last event', async () => {
  const buyer = await newBuyer()
  streamEvents()
  go.resolve('on')
  const answer = await send(await sign(buyer))
  expect(await answer.text()).toBe(EVENTS.join(''))
  expect(decodeJsonObject(answer.headers.get('payment-response')!)).toMatchObject({ amount: '1858' })
  expect(await held(buyer)).toBe(PURSE - 1858n)
})

test('a payer with a final charge reads the answer as it comes; it is charged, and the same payment gets it again', async () => {
  const buyer = await trustedBuyer()
  const before = await held(buyer)
  streamEvents()
  const paid = await sign(buyer)
  const answer = await send(paid)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  expect(answer.headers.get('x-svc-challenge-id')).toMatch(/./)
  const reader = answer.body!.getReader()
  expect(await readUntil(reader, EVENTS[0]!.length)).toBe(EVENTS[0])
  expect(await held(buyer)).toBe(before)
  go.resolve('on')
  const rest = await readUntil(reader, Number.POSITIVE_INFINITY)
  expect(rest.startsWith(EVENTS.slice(1).join(''))).toBe(true)
  expect(lastWords(rest)).toMatchObject({ success: true, amount: '1858', payer: buyer.address.toLowerCase() })
  expect(await held(buyer)).toBe(before - 1858n)
  const calls = shop.backend.seen.length
  const again = await send(paid)
  expect(await again.text()).toBe(EVENTS.join(''))
  expect(decodeJsonObject(again.headers.get('payment-response')!)).toEqual(lastWords(rest))
  expect(shop.backend.seen.length).toBe(calls)
  expect(await held(buyer)).toBe(before - 1858n)
})

test('a trailer may say what a stream cost', async () => {
  const buyer = await trustedBuyer()
  const before = await held(buyer)
  streamEvents('text/event-stream', '{"amount":"77"}')
  go.resolve('on')
  expect(lastWords(await (await send(await sign(buyer))).text())).toMatchObject({ amount: '77' })
  expect(await held(buyer)).toBe(before - 77n)
})

test('a buyer that leaves in the middle has made the call: it is charged, and the answer waits for it', async () => {
  const buyer = await trustedBuyer()
  const before = await held(buyer)
  streamEvents()
  const paid = await sign(buyer)
  const leave = new AbortController()
  const answer = await send({ ...paid, signal: leave.signal })
  await readUntil(answer.body!.getReader(), EVENTS[0]!.length)
  leave.abort()
  const calls = shop.backend.seen.length
  go.resolve('on')
  expect(await (await send(paid)).text()).toBe(EVENTS.join(''))
  expect(shop.backend.seen.length).toBe(calls)
  expect(await held(buyer)).toBe(before - 1858n)
})

test('what is no event stream waits for the chain, and so does a route that does not allow it', async () => {
  const buyer = await trustedBuyer()
  streamEvents('application/json')
  go.resolve('on')
  expect((await send(await sign(buyer))).headers.get('payment-response')).toMatch(/./)
  streamEvents()
  expect((await send(await sign(buyer, '/whole'), '/whole')).headers.get('payment-response')).toMatch(/./)
})

test('beyond the limits of a payer, and of all, answers wait', async () => {
  const [one, other] = [await trustedBuyer(), await trustedBuyer()]
  streamEvents()
  const isStreamed = async (sent: Promise<Response>) => (await sent).headers.get('payment-response') === null
  // $0.02 each: two of one payer fit into $0.04, and three of all into $0.06.
  const first = await Promise.all([send(await sign(one)), send(await sign(one)), send(await sign(other))])
  expect(first.map(({ headers }) => headers.get('payment-response'))).toEqual([null, null, null])
  const late = [send(await sign(one)), send(await sign(other))]
  go.resolve('on')
  expect(await Promise.all(late.map(isStreamed))).toEqual([false, false])
  for (const answer of first) expect(lastWords(await answer.text())).toMatchObject({ amount: '1858' })
  streamEvents()
  expect(await isStreamed(send(await sign(other)))).toBe(true)
})

test('a payer that takes its money away has read one answer; its calls are refused until it has paid', async () => {
  const buyer = await trustedBuyer()
  const before = await held(buyer)
  streamEvents()
  const paid = await sign(buyer)
  const answer = await send(paid)
  await approvePermit2(shop.world.chain, buyer, 0n)
  go.resolve('on')
  const text = await answer.text()
  expect(text.startsWith(EVENTS.join(''))).toBe(true)
  expect(lastWords(text)?.success).not.toBe(true)
  expect(text).toMatch(/^: x-svc-code \S+$/m)
  await approvePermit2(shop.world.chain, buyer, 10n * MAX)
  const calls = shop.backend.seen.length
  let again = await send(paid)
  while (again.status === 503) again = await send(paid)
  expect([again.status, shop.backend.seen.length]).toEqual([200, calls])
  expect(await held(buyer)).toBe(before - 1858n)
})

// What was read of it stays among the losses of the day: after the tests that use the limits up.
test('a stream that breaks off breaks off for the buyer too, and costs nothing; the same payment calls again', async () => {
  const buyer = await trustedBuyer()
  const before = await held(buyer)
  streamEvents()
  const paid = await sign(buyer)
  const answer = await send(paid)
  go.resolve('break')
  await expect(answer.text()).rejects.toThrow()
  expect(await held(buyer)).toBe(before)
  go = withResolvers()
  streamEvents()
  go.resolve('on')
  expect(lastWords(await (await send(paid)).text())).toMatchObject({ amount: '1858' })
  expect(await held(buyer)).toBe(before - 1858n)
})
