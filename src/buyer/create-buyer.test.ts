import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifyTypedData } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { decodeJsonObject, encodeJson } from '../protocol/base64.ts'
import { findNetwork } from '../protocol/networks.ts'
import { PaymentPayloadSchema } from '../protocol/payment.ts'
import { type BuyerOptions, type BuyerStep, createBuyer, fileStorage, memoryStorage } from './index.ts'

const testnet = findNetwork('testnet')!
const account = privateKeyToAccount(generatePrivateKey())
const txHash = `0x${'ab'.repeat(32)}`
const grant = { type: 'AccessGrant', accessToken: 'token', tokenType: 'Bearer', planId: 'basic', txHash }
const receipt = { success: true, transaction: txHash, network: testnet.id, payer: account.address }

interface Answer {
  status: number
  body?: unknown
  headers?: Record<string, string>
}
interface Asked {
  path: string
  body: Record<string, unknown>
  payment?: string
}
/** 'drop' closes the connection without an answer, like a crash or a network failure. */
type Script = (asked: Asked, count: number) => Answer | 'drop'

const offer = (change: Record<string, unknown> = {}) => ({
  scheme: 'exact',
  network: testnet.id,
  asset: testnet.token.address,
  amount: '1000000',
  payTo: `0x${'22'.repeat(20)}`,
  maxTimeoutSeconds: 900,
  extra: { name: 'USDC', version: '2', challengeId: 'http-1', salt: 's' },
  ...change,
})
const challenge = (...accepts: object[]): Answer => {
  const required = { x402Version: 2, error: 'Payment required', resource: { url: 'x' }, accepts }
  return { status: 402, body: required, headers: { 'payment-required': encodeJson(required) } }
}
const granted: Answer = { status: 200, body: grant, headers: { 'payment-response': encodeJson(receipt) } }
const pending: Answer = {
  status: 503,
  body: {
    type: 'Error',
    code: 'SETTLEMENT_PENDING',
    message: 'Wait.',
    statusUrl: 'http://x/x402/challenges/http-1',
  },
  headers: { 'retry-after': '2', 'x-svc-code': 'SETTLEMENT_PENDING' },
}
const failed = (status: number, code: string): Answer => ({
  status,
  body: { type: 'Error', code, message: `because ${code}`, httpStatus: status },
  headers: { 'x-svc-code': code },
})

let script: Script
let asked: Asked[]
let server: Server
let url: string
let folder: string
let nowMs: number

beforeEach(async () => {
  asked = []
  nowMs = 1_900_000_000_000
  folder = mkdtempSync(join(tmpdir(), 'paystile-buyer-'))
  server = createServer(async (incoming, outgoing) => {
    const request = await readRequest(incoming)
    asked.push(request)
    const answer = script(request, asked.length)
    if (answer === 'drop') return void incoming.socket.destroy()
    outgoing.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    outgoing.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? {}))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  server.close().closeAllConnections()
  rmSync(folder, { recursive: true, force: true })
})

async function readRequest(incoming: IncomingMessage): Promise<Asked> {
  let text = ''
  for await (const chunk of incoming) text += chunk
  const header = incoming.headers['payment-signature']
  const payment = typeof header === 'string' ? { payment: header } : {}
  return { path: incoming.url!, body: text === '' ? {} : JSON.parse(text), ...payment }
}

function buyer(options: Partial<BuyerOptions> = {}) {
  const steps: BuyerStep[] = []
  const clock = {
    now: () => nowMs,
    async sleep(ms: number) {
      nowMs += ms
    },
  }
  const made = createBuyer({
    account,
    maxAmount: '$1.00',
    clock,
    onStep: (step) => steps.push(step),
    ...options,
  })
  return { ...made, steps, names: () => steps.map(({ step }) => step) }
}

/** Answers unpaid requests with a challenge; `paid` answers the others, counted from 1. */
const selling = (paid: (count: number, asked: Asked) => Answer | 'drop', offered = offer()): Script => {
  let count = 0
  return (request) => (request.payment === undefined ? challenge(offered) : paid(++count, request))
}
const payments = () => asked.flatMap(({ payment }) => (payment === undefined ? [] : [payment]))

describe('a purchase', () => {
  test('signs exactly what the offer asks, under the domain of the known token, and brings the grant', async () => {
    script = selling(() => granted)
    const { buy, names } = buyer()
    const bought = await buy(`${url}/`, { planId: 'basic' })
    expect(bought).toMatchObject({ grant, receipt, cached: false })
    expect(names()).toEqual(['challenge', 'sign', 'send', 'granted'])
    expect(asked.map(({ body }) => body)).toEqual([
      { planId: 'basic', requestId: bought.requestId },
      { planId: 'basic', requestId: bought.requestId },
    ])
    const payload = PaymentPayloadSchema.parse(decodeJsonObject(payments()[0]!))
    expect(payload.accepted).toMatchObject({ amount: '1000000', extra: { challengeId: 'http-1', salt: 's' } })
    const { authorization, signature } = payload.payload
    expect(authorization).toMatchObject({ value: '1000000', validAfter: '0', validBefore: '1900000120' })
    expect(authorization.from).toBe(account.address.toLowerCase())
    const valid = await verifyTypedData({
      address: account.address,
      domain: { ...testnet.token.domain, chainId: testnet.chainId, verifyingContract: testnet.token.address },
      types: {
        TransferWithAuthorization: [
          { name: 'from', type: 'address' },
          { name: 'to', type: 'address' },
          { name: 'value', type: 'uint256' },
          { name: 'validAfter', type: 'uint256' },
          { name: 'validBefore', type: 'uint256' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'TransferWithAuthorization',
      message: {
        ...authorization,
        value: BigInt(authorization.value),
        validAfter: 0n,
        validBefore: BigInt(authorization.validBefore),
      },
      signature,
    })
    expect(valid).toBe(true)
  })

  test('says when the gateway answered from its cache, and reads an offer from the body alone', async () => {
    const { headers: _headers, ...bare } = challenge(offer())
    const cached = { ...granted, headers: { 'x-svc-code': 'PROOF_ALREADY_REDEEMED' } }
    script = ({ payment }) => (payment === undefined ? bare : cached)
    expect(await buyer().buy(url, { planId: 'basic' })).toMatchObject({ cached: true, receipt })
  })

  test('two calls for one order share one payment', async () => {
    script = selling(() => granted)
    const { buy } = buyer()
    await Promise.all([1, 2, 3].map(() => buy(url, { planId: 'basic', requestId: 'r' })))
    expect(payments()).toHaveLength(1)
  })
})

describe('an unknown outcome', () => {
  test.each<[string, Answer | 'drop']>([
    ['SETTLEMENT_PENDING', pending],
    ['a 500', failed(500, 'INTERNAL_ERROR')],
    ['a proxy that answers 502', { status: 502, body: '<html>' }],
    ['a lost answer', 'drop'],
  ])('%s: the same payload is sent again until the grant is there', async (_name, unknown) => {
    script = selling((count) => (count < 4 ? unknown : granted))
    const { buy, names } = buyer()
    await buy(url, { planId: 'basic', requestId: 'r' })
    expect(payments()).toHaveLength(4)
    expect(new Set(payments()).size).toBe(1)
    expect(names().filter((name) => name === 'sign')).toHaveLength(1)
    expect(names().filter((name) => name === 'pending')).toHaveLength(3)
  })

  test('waits as long as configured, then gives up without losing the payment', async () => {
    script = selling(() => pending)
    const { buy, steps } = buyer({ maxWaitSeconds: 7 })
    const order = { planId: 'basic', requestId: 'r' }
    await expect(buy(url, order)).rejects.toMatchObject({
      code: 'STILL_PENDING',
      requestId: 'r',
      message: expect.stringMatching(/^Wait\. The payment is kept/),
      statusUrl: 'http://x/x402/challenges/http-1',
    })
    expect(payments()).toHaveLength(4)
    expect(steps).toContainEqual(
      expect.objectContaining({ step: 'pending', reason: 'Wait', retryInSeconds: 2 }),
    )
    script = selling(() => granted)
    await buy(url, order)
    expect(new Set(payments()).size).toBe(1)
  })

  test('before the challenge nothing is signed', async () => {
    script = () => pending
    const { buy, names } = buyer({ maxWaitSeconds: 5 })
    await expect(buy(url, { planId: 'basic' })).rejects.toMatchObject({ code: 'STILL_PENDING' })
    expect(names()).not.toContain('sign')
  })
})

describe('a gateway that cannot be reached', () => {
  const order = { planId: 'basic', requestId: 'r' }
  const lost = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })
  const away: typeof fetch = () => Promise.reject(lost)

  test('before anything was signed: the purchase rejects with fetch’s own error', async () => {
    const { buy, steps } = buyer({ fetch: away, maxWaitSeconds: 5 })
    await expect(buy(url, order)).rejects.toBe(lost)
    expect(steps.at(-1)).toEqual({ step: 'refused', code: 'FAULT', message: 'fetch failed' })
  })

  test('one that answered once that it is not decided may know of a payment', async () => {
    script = () => pending
    let count = 0
    const once: typeof fetch = (...call) => (++count === 1 ? fetch(...call) : away(...call))
    const { buy } = buyer({ fetch: once, maxWaitSeconds: 5 })
    await expect(buy(url, order)).rejects.toMatchObject({ code: 'STILL_PENDING' })
  })

  test('once a payment was signed, by this call or an earlier one, it is still pending', async () => {
    script = selling(() => 'drop')
    const storage = fileStorage(folder)
    const expected = { code: 'STILL_PENDING', requestId: 'r' }
    await expect(buyer({ storage, maxWaitSeconds: 5 }).buy(url, order)).rejects.toMatchObject(expected)
    const later = buyer({ storage, fetch: away, maxWaitSeconds: 5 })
    await expect(later.buy(url, order)).rejects.toMatchObject(expected)
    expect(later.names()).not.toContain('sign')
  })
})

describe('a crash of the buyer', () => {
  const order = { planId: 'basic', requestId: 'r' }

  test('between save and send: the next run sends the saved payload and signs nothing', async () => {
    script = selling(() => granted)
    const dying: typeof fetch = (input, init) => {
      if (new Headers(init?.headers).has('payment-signature')) return new Promise(() => {})
      return fetch(input, init)
    }
    const first = buyer({ storage: fileStorage(folder), fetch: dying })
    void first.buy(url, order)
    while (!first.names().includes('send')) await new Promise((resolve) => setImmediate(resolve))
    expect(payments()).toEqual([])

    const second = buyer({ storage: fileStorage(folder) })
    expect(await second.buy(url, order)).toMatchObject({ grant })
    expect(second.names()).toEqual(['send', 'granted'])
    expect(second.steps[0]).toMatchObject({ resumed: true })
    expect(await buyer({ storage: fileStorage(folder) }).buy(url, order)).toMatchObject({ grant })
    expect(new Set(payments()).size).toBe(1)
  })

  test('a payment that cannot be saved is never sent', async () => {
    script = selling(() => granted)
    const claim = () => Promise.reject(new Error('disk full'))
    const { buy } = buyer({ storage: { ...memoryStorage(), claim } })
    await expect(buy(url, order)).rejects.toThrow('disk full')
    expect(payments()).toEqual([])
  })

  test('a stored payment is neither used for another plan nor above a lowered limit', async () => {
    script = selling(() => pending)
    const storage = memoryStorage()
    await expect(buyer({ storage, maxWaitSeconds: 1 }).buy(url, order)).rejects.toThrow()
    const sent = asked.length
    const other = buyer({ storage }).buy(url, { ...order, planId: 'other' })
    await expect(other).rejects.toMatchObject({ code: 'REQUEST_ID_REUSED' })
    await expect(buyer({ storage, maxAmount: '$0.50' }).buy(url, order)).rejects.toMatchObject({
      code: 'OVER_LIMIT',
    })
    expect(asked).toHaveLength(sent)
  })
})
