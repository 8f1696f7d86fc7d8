import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { encodeJson } from '../protocol/base64.ts'
import { BUYER_NETWORKS } from './buyer-networks.ts'
import { type BuyerOptions, createBuyer, memoryStorage } from './index.ts'

const testnet = BUYER_NETWORKS.find(({ id }) => id === 'eip155:84532')!
const account = privateKeyToAccount(generatePrivateKey())
const base = 'https://api.example.com'
const success = encodeJson({ success: true, transaction: '0xab', network: testnet.id })
const required = {
  x402Version: 2,
  accepts: [
    {
      scheme: 'exact',
      network: testnet.id,
      asset: testnet.asset,
      amount: '5',
      payTo: `0x${'22'.repeat(20)}`,
    },
  ],
}
const challenge = () =>
  new Response(JSON.stringify(required), {
    status: 402,
    headers: { 'payment-required': encodeJson(required) },
  })
const granted = () => Response.json({ type: 'AccessGrant', accessToken: 't', txHash: '0xab' })
const refused = (status: number, code: string) =>
  Response.json({ type: 'Error', code, message: `${code}.` }, { status, headers: { 'x-svc-code': code } })

const rpcUrl = 'https://rpc.example.com'
/** The answers of a node: its chain, the time of its newest block, and whether the authorization was used. */
interface Node {
  chainId: number
  atSeconds: number
  used: boolean | 'no such token'
}
const words = { true: `0x${'1'.padStart(64, '0')}`, false: `0x${'0'.repeat(64)}`, 'no such token': '0x' }

async function answerAsNode({ chainId, atSeconds, used }: Node, request: Request): Promise<Response> {
  const { method } = (await request.json()) as { method: string }
  const results: Record<string, unknown> = {
    eth_chainId: `0x${chainId.toString(16)}`,
    eth_getBlockByNumber: { number: '0x7', timestamp: `0x${atSeconds.toString(16)}` },
    eth_call: words[`${used}`],
  }
  return Response.json({ jsonrpc: '2.0', id: 1, result: results[method] })
}

/** A buyer and a gateway that answers unpaid requests with a challenge; `paid` answers payments, counted from 1. */
function scene(paid: (count: number) => Response, options: Partial<BuyerOptions> = {}, node?: Node) {
  const sent: string[] = []
  const unpaid: Request[] = []
  const clock = {
    nowMs: 1_900_000_000_000,
    now: () => clock.nowMs,
    async sleep(ms: number) {
      clock.nowMs += ms
    },
  }
  const fakeFetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    if (request.url.startsWith(rpcUrl)) {
      if (!node) throw new Error('no network')
      return answerAsNode(node, request)
    }
    const header = request.headers.get('payment-signature')
    if (header === null) {
      unpaid.push(request)
      return challenge()
    }
    expect(request.redirect).toBe('manual')
    sent.push(header)
    return paid(sent.length)
  }
  const rpcUrls = { [testnet.id]: rpcUrl }
  const buyer = createBuyer({ account, maxAmount: '$1.00', fetch: fakeFetch, clock, rpcUrls, ...options })
  return { buyer, sent, unpaid, clock }
}
const order = { planId: 'basic', requestId: 'r' }
const distinct = (sent: string[]) => new Set(sent).size

describe('a definite failure', () => {
  test.each([
    [402, 'PAYMENT_FAILED'],
    [410, 'CHALLENGE_EXPIRED'],
  ])(
    '%i %s is not answered with a second signature: the next call sends the same payment again',
    async (status, code) => {
      const { buyer, sent } = scene((count) => (count === 1 ? refused(status, code) : granted()))
      await expect(buyer.buy(base, order)).rejects.toMatchObject({
        code: 'PAYMENT_FAILED',
        gateway: { code },
        retryAt: new Date(1_900_000_150_000),
        message: expect.stringMatching(
          /^the payment failed: [A-Z_]+\. Its .* before 2030-03-17T17:49:10\.000Z/,
        ),
      })
      expect(sent).toHaveLength(1)
      await buyer.buy(base, order)
      expect([sent.length, distinct(sent)]).toEqual([2, 1])
    },
  )

  const unused: Node = { chainId: testnet.chainId, atSeconds: 1_900_000_600, used: false }
  /** A payment of an earlier run that is sent again ten minutes later and gets the answer `paid`. */
  async function later(node: Node | undefined, paid: (count: number) => Response) {
    const storage = memoryStorage()
    const first = scene(() => refused(503, 'SETTLEMENT_PENDING'), { storage, maxWaitSeconds: 1 })
    await expect(first.buyer.buy(base, order)).rejects.toMatchObject({ code: 'STILL_PENDING' })
    const second = scene(paid, { storage }, node)
    second.clock.nowMs += 600_000
    return { ...second, firstSent: first.sent[0] }
  }

  test('of a payment that the chain shows to have expired unused is followed by one new signature, and no more', async () => {
    const fixed = await later(unused, (count) => (count === 1 ? refused(402, 'PAYMENT_FAILED') : granted()))
    await fixed.buyer.buy(base, order)
    expect(fixed.sent[0]).toBe(fixed.firstSent)
    expect(distinct(fixed.sent)).toBe(2)
    const greedy = await later(unused, () => refused(410, 'CHALLENGE_EXPIRED'))
    await expect(greedy.buyer.buy(base, order)).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
    expect([greedy.unpaid.length, distinct(greedy.sent)]).toEqual([1, 2])
  })

  test.each<[string, Node | undefined, string, RegExp]>([
    ['was used', { ...unused, used: true }, 'ALREADY_USED', /used or cancelled/],
    [
      'has not expired in any block',
      { ...unused, atSeconds: 1_900_000_149 },
      'PAYMENT_FAILED',
      /could still be used/,
    ],
    ['cannot be asked for', undefined, 'PAYMENT_FAILED', /could not be asked \(no network\)/],
    ['is of another chain', { ...unused, chainId: 8453 }, 'PAYMENT_FAILED', /RPC is of eip155:8453/],
    ['is unknown there', { ...unused, used: 'no such token' }, 'PAYMENT_FAILED', /does not know the token/],
  ])('of a payment that %s is followed by none', async (_name, node, code, message) => {
    const { buyer, sent } = await later(node, () => refused(402, 'PAYMENT_FAILED'))
    await expect(buyer.buy(base, order)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    })
    expect(distinct(sent)).toBe(1)
  })

  test.each([
    [502, 'DELIVERY_FAILED', 'REFUNDED'],
    [410, 'CHALLENGE_REFUNDED', 'REFUNDED'],
    [409, 'TX_ALREADY_REDEEMED', 'REFUSED'],
    [400, 'INVALID_PROOF', 'REFUSED'],
    [404, 'CHALLENGE_NOT_FOUND', 'REFUSED'],
  ])(
    '%i %s is reported once, and the payment is kept: no later call under this id signs another',
    async (status, code, reported) => {
      const { buyer, sent } = scene(() => refused(status, code))
      for (let call = 0; call < 2; call++) {
        await expect(buyer.buy(base, order)).rejects.toMatchObject({ code: reported, gateway: { code } })
      }
      expect([sent.length, distinct(sent)]).toEqual([2, 1])
    },
  )

  test('an answer that makes no sense keeps the payment too', async () => {
    const { buyer, sent } = scene(() => Response.json({ hello: 1 }))
    await expect(buyer.buy(base, order)).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER' })
    await expect(buyer.buy(base, order)).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER' })
    expect(distinct(sent)).toBe(1)
  })
})

describe('the fetch that pays', () => {
  const paidAnswer = (status = 200) =>
    new Response('data', { status, headers: { 'payment-response': success } })

  test('pays an offer and returns the answer; body and headers are sent both times', async () => {
    const { buyer, sent, unpaid } = scene(() => paidAnswer())
    const answer = await buyer.fetch(`${base}/quote`, {
      method: 'POST',
      body: 'hello',
      headers: { 'x-mine': '1' },
    })
    expect([answer.status, await answer.text()]).toEqual([200, 'data'])
    expect(sent).toHaveLength(1)
    expect([await unpaid[0]!.text(), unpaid[0]!.headers.get('x-mine')]).toEqual(['hello', '1'])
  })

  test('accepts an answer with a receipt as final, even a 500, and repeats the request otherwise', async () => {
    const final = scene(() => paidAnswer(500))
    expect((await final.buyer.fetch(base)).status).toBe(500)
    expect(final.sent).toHaveLength(1)
    const unsure = scene((count) => (count < 3 ? new Response(null, { status: 500 }) : paidAnswer()))
    expect((await unsure.buyer.fetch(base)).status).toBe(200)
    expect([unsure.sent.length, distinct(unsure.sent)]).toEqual([3, 1])
  })

  test('pays for each call, unless an Idempotency-Key says that it is the same', async () => {
    const { buyer, sent } = scene(() => paidAnswer())
    await buyer.fetch(base)
    await buyer.fetch(base)
    expect(distinct(sent)).toBe(2)
    const headers = { 'idempotency-key': 'k' }
    await buyer.fetch(base, { headers })
    await buyer.fetch(base, { headers })
    expect([sent.length, distinct(sent)]).toEqual([4, 3])
  })

  test('a refused payment is used by the next call of the same kind; concurrent calls have their own', async () => {
    const { buyer, sent } = scene((count) => (count < 3 ? refused(402, 'PAYMENT_FAILED') : paidAnswer()))
    const outcomes = await Promise.allSettled([buyer.fetch(base), buyer.fetch(base)])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(distinct(sent)).toBe(2)
    await Promise.all([buyer.fetch(base), buyer.fetch(base)])
    expect([sent.length, distinct(sent)]).toEqual([4, 2])
    await buyer.fetch(base)
    expect(distinct(sent)).toBe(3)
  })

  test('refuses above the limit, and returns a 402 that is not x402 v2 to its caller', async () => {
    const { buyer, sent } = scene(() => paidAnswer(), { maxAmount: '$0.000004' })
    await expect(buyer.fetch(base)).rejects.toMatchObject({ code: 'OVER_LIMIT' })
    const old: typeof fetch = async () => new Response('insert coin', { status: 402 })
    const answer = await scene(() => paidAnswer(), { fetch: old }).buyer.fetch(base)
    expect([answer.status, await answer.text()]).toEqual([402, 'insert coin'])
    expect(sent).toEqual([])
  })

  test('stops when its caller aborts', async () => {
    const abort = new AbortController()
    const { buyer, sent } = scene(() => {
      abort.abort()
      return refused(503, 'SETTLEMENT_PENDING')
    })
    await expect(buyer.fetch(base, { signal: abort.signal })).rejects.toMatchObject({ name: 'AbortError' })
    expect(sent).toHaveLength(1)
  })
})

test('options that make no sense are refused before anything is asked', async () => {
  expect(() => createBuyer({ account, maxAmount: '1.00' })).toThrow('maxAmount must start with "$"')
  const wrong = (options: Partial<BuyerOptions>) => () =>
    createBuyer({ account, maxAmount: '$1.00', ...options })
  expect(wrong({ maxTotal: '5' })).toThrow('maxTotal must start with "$"')
  expect(wrong({ allowedHosts: ['https://api.example.com'] })).toThrow(
    'allowedHosts has "https://api.example.com"',
  )
  expect(wrong({ validSeconds: 5 })).toThrow('validSeconds is 5')
  const asset = `0x${'33'.repeat(20)}` as const
  const networks = [{ ...testnet, asset }]
  expect(wrong({ networks })).toThrow(/names token 0x3333.*add it to allowedAssets/)
  expect(wrong({ networks, allowedAssets: [asset] })).not.toThrow()
  expect(wrong({ networks: [{ ...testnet, asset, id: 'eip155:31337', chainId: 31337 }] })).not.toThrow()
  expect(wrong({ networks: ['base', 'sepolia'] })).toThrow(
    /networks has "sepolia"; known are base, base-sepolia/,
  )
  expect(wrong({ networks: [] })).toThrow('networks is empty')
  expect(wrong({ networks: [{ ...testnet, decimals: 1.5 }] })).toThrow('1.5 decimals')
  const { buyer, unpaid } = scene(granted)
  await expect(buyer.buy('api.example.com', order)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  await expect(buyer.buy(base, { planId: 'a b' })).rejects.toMatchObject({ code: 'BAD_OPTION' })
  expect(unpaid).toEqual([])
})

test('an onStep that throws does not stop a payment', async () => {
  const onStep = () => {
    throw new Error('terminal gone')
  }
  await expect(scene(granted, { onStep }).buyer.buy(base, order)).resolves.toMatchObject({ cached: false })
})

test('the catalog is returned, and anything else is an error', async () => {
  const catalog = { agentName: 'x', plans: [], routes: [] }
  const seller: typeof fetch = async (input) =>
    String(input) === `${base}/discover` ? Response.json(catalog) : new Response('no', { status: 404 })
  const { buyer } = scene(granted, { fetch: seller })
  expect(await buyer.discover(`${base}/`)).toEqual(catalog)
  await expect(buyer.discover(`${base}/other`)).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER' })
})
