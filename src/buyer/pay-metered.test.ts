import { verifyTypedData } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { decodeJsonObject, encodeJson } from '../protocol/base64.ts'
import { PaymentEnvelopeSchema } from '../protocol/payment.ts'
import { permitTypedData, UPTO_PROXY_ADDRESS, UptoPayloadSchema } from '../protocol/permit2.ts'
import { BUYER_NETWORKS } from './buyer-networks.ts'
import { type BuyerOptions, type BuyerStep, createBuyer, memoryStorage } from './index.ts'

const testnet = BUYER_NETWORKS.find(({ id }) => id === 'eip155:84532')!
const account = privateKeyToAccount(generatePrivateKey())
const url = 'https://api.example.com/chat'
const rpcUrl = 'https://rpc.example.com'
const START_MS = 1_900_000_000_000
const payTo = `0x${'22'.repeat(20)}`
const facilitatorAddress = `0x${'33'.repeat(20)}`
const metered = {
  scheme: 'upto',
  network: testnet.id,
  asset: testnet.asset,
  amount: '20000',
  payTo,
  maxTimeoutSeconds: 900,
  extra: { assetTransferMethod: 'permit2', facilitatorAddress },
}

/** The answers of a node. */
interface Node {
  atSeconds: number
  bitmap: bigint
  /** By hash: calldata of a mined transaction of the proxy. */
  mined?: Record<string, string>
}

async function answerAsNode({ atSeconds, bitmap, mined = {} }: Node, request: Request): Promise<Response> {
  const { method, params } = (await request.json()) as { method: string; params: string[] }
  const input = mined[params[0] ?? '']
  const results: Record<string, unknown> = {
    eth_chainId: `0x${testnet.chainId.toString(16)}`,
    eth_getBlockByNumber: { number: '0x7', timestamp: `0x${atSeconds.toString(16)}` },
    eth_call: `0x${bitmap.toString(16).padStart(64, '0')}`,
    eth_getTransactionByHash: input && { to: UPTO_PROXY_ADDRESS, input },
    eth_getTransactionReceipt: input && { status: '0x1' },
  }
  return Response.json({ jsonrpc: '2.0', id: 1, result: results[method] ?? null })
}

/** A buyer, a seller that answers payments, counted from 1, by `paid`, and a node. */
function scene(paid: (count: number) => Response, options: Partial<BuyerOptions> = {}) {
  const sent: string[] = []
  const steps: BuyerStep[] = []
  const node: Node = { atSeconds: START_MS / 1000, bitmap: 0n }
  const clock = {
    nowMs: START_MS,
    now: () => clock.nowMs,
    async sleep(ms: number) {
      clock.nowMs += ms
    },
  }
  const fakeFetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    if (request.url.startsWith(rpcUrl)) return answerAsNode(node, request)
    const header = request.headers.get('payment-signature')
    if (header !== null) return paid(sent.push(header))
    const required = { x402Version: 2, accepts: [metered] }
    return new Response(null, { status: 402, headers: { 'payment-required': encodeJson(required) } })
  }
  const buyer = createBuyer({
    ...{ account, maxAmount: '$0.02', fetch: fakeFetch, clock, rpcUrls: { [testnet.id]: rpcUrl } },
    onStep: (step) => void steps.push(step),
    ...options,
  })
  return { buyer, sent, steps, clock, node }
}

const answer = (receipt?: object, status = 200) =>
  new Response('data', { status, ...(receipt && { headers: { 'payment-response': encodeJson(receipt) } }) })
const settled = (amount?: string, transaction = '') =>
  answer({ success: true, transaction, network: testnet.id, ...(amount !== undefined && { amount }) })
const permitOf = (header: string) =>
  UptoPayloadSchema.parse(PaymentEnvelopeSchema.parse(decodeJsonObject(header)).payload)
const distinct = (sent: string[]) => new Set(sent).size
const call = (key?: string): RequestInit => ({
  method: 'POST',
  ...(key !== undefined && { headers: { 'idempotency-key': key } }),
})
const hash = (digit: string) => `0x${digit.repeat(64)}`
const word = (value: bigint) => value.toString(16).padStart(64, '0')
/** Calldata that settles this payment for these units. */
function settling(header: string, units: bigint): string {
  const { from, nonce } = permitOf(header).permit2Authorization
  const words = [0n, 20_000n, BigInt(nonce), 0n, units, BigInt(from)]
  return `0xff11e7b4${words.map(word).join('')}`
}

describe('a metered payment', () => {
  test('is signed for the maximum, to the seller, by the facilitator of the offer, with a new nonce each', async () => {
    const { buyer, sent } = scene(() => settled('1'))
    await buyer.fetch(url, call())
    await buyer.fetch(url, call())
    const [first, second] = sent.map(permitOf)
    const { permit2Authorization: permit, signature } = first!
    expect(permit).toMatchObject({
      from: account.address.toLowerCase(),
      permitted: { token: testnet.asset, amount: '20000' },
      spender: UPTO_PROXY_ADDRESS,
      deadline: String(START_MS / 1000 + 900),
      witness: { to: payTo, facilitator: facilitatorAddress, validAfter: '0' },
    })
    const typedData = permitTypedData(testnet.chainId, permit)
    expect(await verifyTypedData({ ...typedData, address: account.address, signature })).toBe(true)
    expect(permit.nonce).not.toBe(second!.permit2Authorization.nonce)
    expect(decodeJsonObject(sent[0]!)).toMatchObject({ accepted: metered, scheme: 'upto' })
  })

  test('is valid no longer than validSeconds, and never longer than an hour', async () => {
    const short = scene(() => settled('1'), { validSeconds: 60 })
    await short.buyer.fetch(url, call())
    expect(permitOf(short.sent[0]!).permit2Authorization.deadline).toBe(String(START_MS / 1000 + 60))
    const long = scene(() => settled('1'))
    metered.maxTimeoutSeconds = 1_000_000
    await long.buyer.fetch(url, call()).finally(() => {
      metered.maxTimeoutSeconds = 900
    })
    expect(permitOf(long.sent[0]!).permit2Authorization.deadline).toBe(String(START_MS / 1000 + 3600))
  })

  test.each([
    ['what the seller says', settled('1858', hash('a')), '$0.001858', hash('a')],
    ['nothing', settled('0'), '$0.00', ''],
    ['the maximum where the seller does not say', settled(), '$0.02', ''],
    ['the maximum where it claims more', settled('20001', hash('a')), '$0.02', hash('a')],
    ['the maximum where it says no number', settled('-5', hash('a')), '$0.02', hash('a')],
  ])('is reported as %s', async (_name, response, charged, txHash) => {
    const { buyer, steps } = scene(() => response)
    const paid = await buyer.fetch(url, call())
    expect(buyer.chargeOf(paid)).toEqual({ network: testnet.id, maximum: '$0.02', charged, txHash })
    expect(steps.at(-1)).toMatchObject({ step: 'charged', maximumMicro: 20_000n, txHash })
    expect(buyer.chargeOf(new Response())).toBeUndefined()
  })

  test('is sent again until the outcome is known, and no other is signed', async () => {
    const { buyer, sent } = scene((count) => (count < 3 ? answer(undefined, 503) : settled('5')))
    await buyer.fetch(url, call())
    expect([sent.length, distinct(sent)]).toEqual([3, 1])
  })

  test('of a failed call is kept for the next call of the same kind', async () => {
    const failed = {
      success: false,
      transaction: '',
      network: testnet.id,
      amount: '0',
      errorReason: 'HTTP 500',
    }
    const { buyer, sent } = scene((count) => (count === 1 ? answer(failed, 500) : settled('5')))
    expect((await buyer.fetch(url, call())).status).toBe(500)
    expect((await buyer.fetch(url, call())).status).toBe(200)
    expect([sent.length, distinct(sent)]).toEqual([2, 1])
    await buyer.fetch(url, call())
    expect(distinct(sent)).toBe(2)
  })

  test('that is refused is followed by another only when the chain is past its deadline and the nonce unused', async () => {
    const { buyer, sent, clock, node } = scene((count) => (count < 4 ? answer(undefined, 402) : settled('5')))
    const retryAt = new Date(START_MS + 930_000)
    await expect(buyer.fetch(url, call('k'))).rejects.toMatchObject({ code: 'PAYMENT_FAILED', retryAt })
    clock.nowMs = START_MS + 930_000
    // The clock is past it, and no block is yet.
    node.atSeconds = START_MS / 1000 + 929
    await expect(buyer.fetch(url, call('k'))).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
    expect(distinct(sent)).toBe(1)
    node.atSeconds = START_MS / 1000 + 930
    await buyer.fetch(url, call('k'))
    expect([sent.length, distinct(sent)]).toEqual([4, 2])
  })

  test('whose nonce is used or given up on chain is followed by none', async () => {
    const { buyer, sent, clock, node } = scene(() => answer(undefined, 402))
    await expect(buyer.fetch(url, call('k'))).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
    clock.nowMs = START_MS + 930_000
    node.atSeconds = START_MS / 1000 + 930
    node.bitmap = 1n << (BigInt(permitOf(sent[0]!).permit2Authorization.nonce) & 255n)
    await expect(buyer.fetch(url, call('k'))).rejects.toMatchObject({ code: 'ALREADY_USED' })
    expect(distinct(sent)).toBe(1)
  })
})

describe('against maxTotal', () => {
  const within = { maxTotal: '$0.03' }

  test('a maximum counts until the chain shows the charge of that very payment', async () => {
    const shown = scene((count) => {
      const txHash = hash(String(count))
      // Of the third the node does not know anything yet.
      if (count < 3) shown.node.mined = { [txHash]: settling(shown.sent[count - 1]!, 1000n) }
      return settled('1000', txHash)
    }, within)
    for (let calls = 0; calls < 3; calls++) await shown.buyer.fetch(url, call())
    await expect(shown.buyer.fetch(url, call())).rejects.toMatchObject({ code: 'OVER_TOTAL' })
    expect(shown.sent).toHaveLength(3)
  })

  test('the transaction of an earlier, smaller charge does not stand for a later one', async () => {
    const { buyer, sent, node } = scene(() => {
      node.mined ??= { [hash('1')]: settling(sent[0]!, 1000n) }
      return settled('1000', hash('1'))
    }, within)
    await buyer.fetch(url, call())
    // Counts $0.001 + $0.02, since the node shows nothing of the second.
    await buyer.fetch(url, call())
    await expect(buyer.fetch(url, call())).rejects.toMatchObject({ code: 'OVER_TOTAL' })
  })

  test('what the seller says was free counts until it can no longer be charged', async () => {
    const storage = memoryStorage()
    const { buyer, sent, clock, node } = scene(() => settled('0'), { ...within, storage })
    await buyer.fetch(url, call())
    await expect(buyer.fetch(url, call())).rejects.toMatchObject({ code: 'OVER_TOTAL' })
    clock.nowMs = START_MS + 930_000
    await expect(buyer.fetch(url, call())).rejects.toMatchObject({ code: 'OVER_TOTAL' })
    node.atSeconds = START_MS / 1000 + 930
    await buyer.fetch(url, call())
    expect(sent).toHaveLength(2)
    // This one was taken after all.
    clock.nowMs += 930_000
    node.atSeconds += 930
    node.bitmap = 1n << (BigInt(permitOf(sent[1]!).permit2Authorization.nonce) & 255n)
    await expect(buyer.fetch(url, call())).rejects.toMatchObject({ code: 'OVER_TOTAL' })
    expect(await storage.uncharged?.()).toEqual([])
  })
})

test('a seller that goes on asking for an approval that the chain shows gets no second one, and no second payment', async () => {
  const lacking = () =>
    answer(
      { success: false, transaction: '', network: testnet.id, errorReason: 'permit2_allowance_required' },
      412,
    )
  const { buyer, sent, node } = scene(lacking, { approvePermit2: true })
  // What the node answers to every question for a word: the allowance is enough.
  node.bitmap = 1n << 200n
  await expect(buyer.fetch(url, call())).rejects.toMatchObject({
    code: 'ALLOWANCE_REQUIRED',
    message: expect.stringContaining('the seller does not see it yet'),
  })
  expect(distinct(sent)).toBe(1)
})

test("a seller's own 412 is its answer", async () => {
  const { buyer } = scene(() =>
    answer({ success: true, transaction: '', network: testnet.id, amount: '0' }, 412),
  )
  expect((await buyer.fetch(url, call())).status).toBe(412)
})

test.each<[Partial<BuyerOptions>, string]>([
  [{ metered: 'always' as 'use' }, 'metered is "always"; it can be "use", "prefer" or "off"'],
  [{ approvePermit2: '5' }, 'approvePermit2 is true, or an amount, which must start with "$"'],
  [
    { approvePermit2: true, account: { address: account.address, signTypedData: account.signTypedData } },
    'approvePermit2 needs an account that signs transactions',
  ],
])('an option that makes no sense is refused: %j', (options, message) => {
  expect(() => createBuyer({ account, maxAmount: '$1.00', ...options })).toThrow(message)
})
