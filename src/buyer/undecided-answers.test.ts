import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { encodeJson } from '../protocol/base64.ts'
import { findNetwork } from '../protocol/networks.ts'
import { createBuyer } from './index.ts'

const testnet = findNetwork('testnet')!
const account = privateKeyToAccount(generatePrivateKey())
const url = 'https://api.example.com/quote'
const success = {
  'payment-response': encodeJson({ success: true, transaction: '0xab', network: testnet.id }),
}
const required = {
  x402Version: 2,
  accepts: [
    {
      ...{ scheme: 'exact', network: testnet.id, asset: testnet.token.address, amount: '5' },
      payTo: `0x${'22'.repeat(20)}`,
    },
  ],
}

type Answer = () => Response | Promise<Response>
const answer = (status: number, headers: Record<string, string> = {}): Answer => {
  return () => new Response('said', { status, headers })
}
const lost: Answer = () => Promise.reject(new TypeError('fetch failed'))
const delivered = answer(200, success)

/** A body that breaks off after its first bytes; `length` is what the head announces. */
const brokenOff = (length?: number): Answer => {
  const headers = { ...success, ...(length !== undefined && { 'content-length': String(length) }) }
  return () => {
    let pulls = 0
    const pull = (controller: ReadableStreamDefaultController) =>
      ++pulls === 1 ? controller.enqueue(Buffer.from('sa')) : controller.error(new TypeError('terminated'))
    return new Response(new ReadableStream({ pull }), { headers })
  }
}

/** A buyer whose payments are answered in this order; the last answer stays. `used`: what the chain says. */
function scene(answers: Answer[], used = false, maxResponseBytes = 1_000_000) {
  const sent: string[] = []
  const clock = {
    nowMs: 1_900_000_000_000,
    now: () => clock.nowMs,
    async sleep(ms: number) {
      clock.nowMs += ms
    },
  }
  const results: Record<string, () => unknown> = {
    eth_chainId: () => '0x14a34',
    eth_getBlockByNumber: () => ({ number: '0x7', timestamp: `0x${(clock.nowMs / 1000).toString(16)}` }),
    eth_call: () => `0x${used ? '1'.padStart(64, '0') : '0'.repeat(64)}`,
  }
  const fetchOnce: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    if (request.url.startsWith('https://rpc.')) {
      const { method } = (await request.json()) as { method: string }
      return Response.json({ jsonrpc: '2.0', id: 1, result: results[method]!() })
    }
    const header = request.headers.get('payment-signature')
    if (header === null)
      return Response.json(required, { status: 402, headers: { 'payment-required': encodeJson(required) } })
    sent.push(header)
    return (answers.length > 1 ? answers.shift()! : answers[0]!)()
  }
  const rpcUrls = { [testnet.id]: 'https://rpc.example.com' }
  const limits = { maxAmount: '$1.00', maxResponseBytes }
  const buyer = createBuyer({ account, ...limits, fetch: fetchOnce, clock, rpcUrls })
  return { buyer, sent, clock, signed: () => new Set(sent).size }
}

describe('an answer that decides nothing', () => {
  test.each([500, 501, 502, 507, 520, 522, 524, 530, 599, 408, 425, 429])(
    '%i: the same payment is sent again',
    async (status) => {
      const { buyer, sent, signed } = scene([answer(status), delivered])
      expect((await buyer.fetch(url)).status).toBe(200)
      expect([sent.length, signed()]).toEqual([2, 1])
    },
  )

  test.each([400, 403, 404, 421])(
    '%i is returned, and the next call of the same kind sends the same payment',
    async (status) => {
      const { buyer, signed } = scene([lost, answer(status), delivered])
      expect((await buyer.fetch(url)).status).toBe(status)
      expect((await buyer.fetch(url)).status).toBe(200)
      expect(signed()).toBe(1)
      await buyer.fetch(url)
      expect(signed()).toBe(2)
    },
  )

  test.each([
    ['it expired unused', false, answer(404), 2],
    ['it was used, and the gateway refuses it', true, answer(400, { 'x-svc-code': 'INVALID_PROOF' }), 2],
    ['it was used, and something in front of the gateway answers', true, answer(404), 1],
  ])('once the chain shows that %s', async (_name, used, refusal, payments) => {
    const { buyer, clock, signed } = scene([refusal, refusal, delivered], used)
    await buyer.fetch(url)
    clock.nowMs += 300_000
    await buyer.fetch(url)
    await buyer.fetch(url)
    expect(signed()).toBe(payments)
  })
})

test.each([
  ['a receipt', answer(500, success)],
  ['that it was not delivered', answer(502, { 'x-svc-code': 'DELIVERY_FAILED' })],
  ['that it was refunded', answer(410, { 'x-svc-code': 'CHALLENGE_REFUNDED' })],
  ['that it was used already', answer(409, { 'x-svc-code': 'TX_ALREADY_REDEEMED' })],
])('an answer with %s is a decision: the next call pays anew', async (_name, decided) => {
  const { buyer, sent, signed } = scene([decided, delivered])
  await buyer.fetch(url)
  await buyer.fetch(url)
  expect([sent.length, signed()]).toEqual([2, 2])
})

describe('a paid answer that breaks off', () => {
  test('is asked for again by the same payment, if it is short', async () => {
    const { buyer, sent, signed } = scene([brokenOff(4), delivered])
    expect(await (await buyer.fetch(url)).text()).toBe('said')
    expect([sent.length, signed()]).toEqual([2, 1])
  })

  test.each([
    ['whose length is not known', undefined],
    ['that is longer than 1 MiB', 2_000_000],
  ])('%s reaches its caller, and with a key the same payment brings it', async (_name, length) => {
    const { buyer, signed } = scene([brokenOff(length), delivered])
    const keyed = { headers: { 'idempotency-key': 'k' } }
    await expect(buyer.fetch(url, keyed).then((answer) => answer.text())).rejects.toThrow('terminated')
    expect(await (await buyer.fetch(url, keyed)).text()).toBe('said')
    expect(signed()).toBe(1)
  })

  test('is not held in memory beyond the limit, whatever length its head announces', async () => {
    const { buyer, sent } = scene([answer(200, { ...success, 'content-length': '1' })], false, 3)
    await expect(buyer.fetch(url)).rejects.toMatchObject({ code: 'ANSWER_TOO_LARGE' })
    expect(sent).toHaveLength(1)
  })
})

test('calls that fail among parallel identical ones are continued by the next ones, each once', async () => {
  const no = answer(404)
  const { buyer, signed } = scene([delivered, no, no, no, delivered])
  const statuses = await Promise.all([1, 2, 3, 4].map(async () => (await buyer.fetch(url)).status))
  expect(statuses.toSorted()).toEqual([200, 404, 404, 404])
  for (let call = 0; call < 3; call++) expect((await buyer.fetch(url)).status).toBe(200)
  expect(signed()).toBe(4)
  await buyer.fetch(url)
  expect(signed()).toBe(5)
})
