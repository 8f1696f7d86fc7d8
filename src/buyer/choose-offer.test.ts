import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeJsonObject, encodeJson } from '../protocol/base64.ts'
import { findNetwork } from '../protocol/networks.ts'
import {
  type DevAccount,
  type DevChain,
  startDevChains,
  startFacilitator,
  type TestFacilitator,
} from '../testing/index.ts'
import { type BuyerOptions, type BuyerStep, createBuyer, memoryStorage } from './index.ts'

const url = 'https://api.example.com/weather'
const SELLER = '0x00000000000000000000000000000000000000AA'
const PRICE = 1_000_000n

let base: DevChain
let arbitrum: DevChain
let facilitator: TestFacilitator
/** Takes requests and never answers. */
let silent: Server
let silentUrl: string

beforeAll(async () => {
  ;[base, arbitrum] = (await startDevChains([84532, 421614])) as [DevChain, DevChain]
  facilitator = await startFacilitator({ chains: [base, arbitrum] })
  silent = createServer(() => {})
  await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening))
  silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
})
afterAll(async () => {
  silent.close().closeAllConnections()
  await facilitator.stop()
  await Promise.all([base.stop(), arbitrum.stop()])
})

const entry = (word: string, change: object = {}) => {
  const { id, token } = findNetwork(word)!
  return {
    scheme: 'exact',
    network: id,
    asset: token.address,
    amount: String(PRICE),
    payTo: SELLER,
    maxTimeoutSeconds: 300,
    extra: token.domain,
    ...change,
  }
}

let buyer: DevAccount
/** What the seller offers; the facilitator settles what is paid, unless the seller answers something else. */
let accepts: object[]
let instead: number | undefined
let asked: string[]
let steps: BuyerStep[]
let sent: string[]
beforeEach(async () => {
  accepts = [entry('base-sepolia'), entry('arbitrum-sepolia')]
  instead = undefined
  asked = []
  steps = []
  sent = []
  buyer = await base.newBuyer()
})

async function sell(request: Request): Promise<Response> {
  const header = request.headers.get('payment-signature')
  if (header === null) {
    const required = { x402Version: 2, accepts }
    return new Response(null, { status: 402, headers: { 'payment-required': encodeJson(required) } })
  }
  sent.push(header)
  if (instead !== undefined) return new Response(null, { status: instead })
  const paymentPayload = decodeJsonObject(header)!
  const body = { x402Version: 2, paymentPayload, paymentRequirements: paymentPayload.accepted }
  const answer = await fetch(`${facilitator.url}/settle`, { method: 'POST', body: JSON.stringify(body) })
  const receipt = (await answer.json()) as { success: boolean }
  const headers = { 'payment-response': encodeJson(receipt) }
  return new Response('rain', { status: receipt.success ? 200 : 402, headers })
}

const seller: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  if (request.url === url) return sell(request)
  asked.push(request.url)
  return fetch(request)
}

function call(options: Partial<BuyerOptions> = {}, init?: RequestInit): Promise<Response> {
  const rpcUrls = { [base.network]: base.rpcUrl, [arbitrum.network]: arbitrum.rpcUrl }
  const made = createBuyer({
    account: buyer.account,
    maxAmount: '$1.00',
    rpcUrls,
    fetch: seller,
    onStep: (step) => steps.push(step),
    ...options,
  })
  return made.fetch(url, init)
}

/** Where the purchase was paid, after checking that money moved there and nowhere else. */
async function paidOn(options: Partial<BuyerOptions> = {}): Promise<string> {
  const held = () => Promise.all([base.balanceOf(buyer.address), arbitrum.balanceOf(buyer.address)])
  const before = await held()
  expect((await call(options)).status).toBe(200)
  const after = await held()
  const spent = before.map((balance, index) => balance - after[index]!)
  expect(spent.toSorted()).toEqual([0n, PRICE])
  return spent[0] === PRICE ? 'base-sepolia' : 'arbitrum-sepolia'
}
const reason = () => steps.flatMap((step) => (step.step === 'challenge' ? [step.reason] : []))[0]

describe('of two networks that the seller offers', () => {
  test('the second is paid if the money is only there', async () => {
    await arbitrum.mint(buyer.address, PRICE)
    await base.mint(buyer.address, 200_000n)
    expect(await paidOn()).toBe('arbitrum-sepolia')
    expect(reason()).toBe('it holds enough, 1.00 USDC; balance 0.20 of 1.00 USDC on Base Sepolia')
  })

  test('the seller’s first is paid if both hold enough, or the caller’s first', async () => {
    await base.mint(buyer.address, 5n * PRICE)
    await arbitrum.mint(buyer.address, 5n * PRICE)
    expect(await paidOn()).toBe('base-sepolia')
    expect(await paidOn({ networks: ['arbitrum-sepolia', 'base-sepolia'] })).toBe('arbitrum-sepolia')
    accepts.reverse()
    expect(await paidOn()).toBe('arbitrum-sepolia')
    expect(await paidOn({ networks: [base.network, arbitrum.network] })).toBe('base-sepolia')
  })

  test('none is paid if none holds enough, and the error says why of each', async () => {
    accepts.push(
      entry('sei-testnet', { amount: '9000000' }),
      entry('base'),
      entry('base', { scheme: 'batch-settlement' }),
    )
    await base.mint(buyer.address, 200_000n)
    const message = [
      'none of 5 ways to pay fits: balance 0.20 of 1.00 USDC on Base Sepolia',
      'balance 0.00 of 1.00 USDC on Arbitrum Sepolia',
      'the price on Sei testnet is $9.00 and the limit $1.00',
      'Base takes real money and the first offer does not; name it in networks to pay there',
      'Base by scheme "batch-settlement", and this buyer pays "exact" and "upto". Nothing was signed; test USDC is free at https://faucet.circle.com',
    ].join('; ')
    await expect(call()).rejects.toMatchObject({ code: 'INSUFFICIENT_FUNDS', message })
    expect(sent).toEqual([])
  })

  test('one whose RPC is silent or dead is paid only if no other holds enough', async () => {
    const rpcUrls = (dead: string) => ({ [base.network]: dead, [arbitrum.network]: arbitrum.rpcUrl })
    await base.mint(buyer.address, 5n * PRICE)
    expect(await paidOn({ rpcUrls: rpcUrls('http://127.0.0.1:1') })).toBe('base-sepolia')
    expect(reason()).toMatch(/^no balance is known to be enough, and that on Base Sepolia is not known/)
    // An RPC of another chain tells nothing either.
    expect(await paidOn({ rpcUrls: rpcUrls(arbitrum.rpcUrl) })).toBe('base-sepolia')
    await arbitrum.mint(buyer.address, PRICE)
    expect(await paidOn({ rpcUrls: rpcUrls(silentUrl) })).toBe('arbitrum-sepolia')
  })

  test('no balance is read where only one fits', async () => {
    await base.mint(buyer.address, 2n * PRICE)
    expect(await paidOn({ networks: ['base-sepolia'] })).toBe('base-sepolia')
    expect(reason()).toMatch(/^it is the only one of 2 that fits: Arbitrum Sepolia is not among/)
    accepts.pop()
    expect(await paidOn()).toBe('base-sepolia')
    expect(asked).toEqual([])
  })
})

test('a token that is offered a thousand times is asked for once', async () => {
  accepts = Array.from({ length: 1_000 }, () => entry('base-sepolia'))
  await expect(call()).rejects.toMatchObject({
    code: 'INSUFFICIENT_FUNDS',
    message: expect.stringMatching(/; 988 more\. Nothing was signed; test USDC is free at \S+$/),
  })
  expect(asked).toHaveLength(2)
})

test('a stored payment is sent again on its own network, wherever the money or the caller has moved', async () => {
  const storage = memoryStorage()
  const init = { headers: { 'idempotency-key': 'k' } }
  await base.mint(buyer.address, PRICE)
  instead = 503
  await expect(call({ storage, maxWaitSeconds: 1 }, init)).rejects.toMatchObject({ code: 'STILL_PENDING' })
  await arbitrum.mint(buyer.address, PRICE)
  instead = undefined
  const reads = asked.length
  const answer = await call({ storage, networks: ['arbitrum-sepolia'] }, init)
  expect(answer.status).toBe(200)
  expect(new Set(sent).size).toBe(1)
  expect(asked).toHaveLength(reads)
  expect(await base.balanceOf(buyer.address)).toBe(0n)
  expect(await arbitrum.balanceOf(buyer.address)).toBe(PRICE)
})

test('a call that its caller aborts while balances are read signs nothing', async () => {
  const rpcUrls = { [base.network]: silentUrl, [arbitrum.network]: silentUrl }
  const abort = new AbortController()
  const aborting: typeof fetch = (input, init) => {
    if (new Request(input).url.startsWith(silentUrl)) abort.abort()
    return seller(input, init)
  }
  const stopped = call({ rpcUrls, fetch: aborting }, { signal: abort.signal })
  await expect(stopped).rejects.toMatchObject({ name: 'AbortError' })
  expect(sent).toEqual([])
})

test('a payment that failed on one network is followed by one on another only when its own chain shows that it is dead', async () => {
  const storage = memoryStorage()
  const init = { headers: { 'idempotency-key': 'k' } }
  let movedMs = 0
  const clock = {
    now: () => Date.now() + movedMs,
    sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
  }
  await base.mint(buyer.address, PRICE)
  instead = 402
  await expect(call({ storage, clock }, init)).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
  await arbitrum.mint(buyer.address, PRICE)
  const only = { storage, clock, networks: ['arbitrum-sepolia'] }
  await expect(call(only, init)).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
  movedMs = 200_000
  // The other chain would say that it never saw this authorization.
  const deaf = { [base.network]: arbitrum.rpcUrl, [arbitrum.network]: arbitrum.rpcUrl }
  await expect(call({ ...only, rpcUrls: deaf }, init)).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
  expect(new Set(sent).size).toBe(1)
  await base.increaseTime(200)
  instead = undefined
  // The dead payment is shown once more; the facilitator refuses it, and the chain of Base Sepolia decides.
  expect((await call(only, init)).status).toBe(200)
  expect(new Set(sent).size).toBe(2)
  expect(await base.balanceOf(buyer.address)).toBe(PRICE)
  expect(await arbitrum.balanceOf(buyer.address)).toBe(0n)
})
