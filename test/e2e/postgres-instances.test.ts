import { afterAll, beforeAll, expect, test } from 'vitest'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { openPostgresStore } from '../../src/stores/sql/postgres.ts'
import {
  type DevAccount,
  type DevChain,
  paymentHeader,
  signAuthorization,
  startDevChain,
} from '../../src/testing/index.ts'
import { type PostgresServer, startPostgres } from '../../src/testing/postgres-server.ts'
import { type Answer, answerOf, eventually, PRICE, TOKEN_SECRET } from './world.ts'

const BASE_URL = 'http://shop.test'
const BUYERS = 50

let chain: DevChain
let server: PostgresServer
let instances: Gateway[]

async function openInstance(): Promise<Gateway> {
  return createGateway({
    walletAddress: chain.account(0).address,
    network: 'testnet',
    baseUrl: BASE_URL,
    rpcUrl: chain.rpcUrl,
    plans: [{ planId: 'basic', unitAmount: '$1.00' }],
    // One gas wallet for both: its nonces are given out by the store.
    gasWalletPrivateKey: chain.account(1).privateKey,
    tokenSecret: TOKEN_SECRET,
    secretKey: 's'.repeat(32),
    store: await openPostgresStore({ url: server.url }),
    pollIntervalMs: 25,
    rateLimitPerMinute: 0,
  })
}

beforeAll(async () => {
  ;[chain, server] = await Promise.all([startDevChain(), startPostgres()])
  instances = await Promise.all([openInstance(), openInstance()])
})
afterAll(async () => {
  await Promise.all(instances.map((gateway) => gateway.close()))
  await Promise.all([chain.stop(), server.stop()])
})

async function access(instance: number, body: object, header?: string): Promise<Answer> {
  const request = new Request(`${BASE_URL}/x402/access`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(header && { 'payment-signature': header }) },
    body: JSON.stringify(body),
  })
  return answerOf(await instances[instance % instances.length]!.fetch(request))
}

async function signedTerms(instance: number, buyer: DevAccount, body: object): Promise<string> {
  const { headers } = await access(instance, body)
  const { accepts } = decodeJsonObject(headers.get('payment-required') ?? '') as unknown as PaymentRequired
  const signed = await signAuthorization({ account: buyer.account, requirements: accepts[0]! })
  return paymentHeader({ accepted: accepts[0]!, ...signed })
}

/** The same payload again, here and there in turn, until the answer is final. */
function payUntilDecided(instance: number, header: string, body: object): Promise<Answer> {
  let turn = instance
  return eventually(async () => {
    const answer = await access(turn++, body, header)
    return answer.status !== 503 && answer
  })
}

test(`${BUYERS} buyers send every payment to both instances at once, and each is charged once`, async () => {
  const buyers = await Promise.all(
    Array.from({ length: BUYERS }, () => chain.newBuyer({ micro: 5n * PRICE })),
  )
  const purchases = await Promise.all(
    buyers.map(async (buyer, index) => {
      const body = { planId: 'basic', requestId: `order-${index}` }
      // The terms come from one instance; the payment goes to both.
      return { body, buyer, header: await signedTerms(index, buyer, body) }
    }),
  )
  const answers = await Promise.all(
    purchases.map(({ header, body }, index) => {
      return Promise.all([0, 1, 2, 3].map((copy) => payUntilDecided(index + copy, header, body)))
    }),
  )
  for (const copies of answers) {
    expect(copies.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(new Set(copies.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  }
  const balances = await Promise.all(buyers.map(({ address }) => chain.balanceOf(address)))
  expect(balances).toEqual(buyers.map(() => 4n * PRICE))
  expect(await chain.balanceOf(chain.account(0).address)).toBe(BigInt(BUYERS) * PRICE)

  // Whichever instance sold it, both hand it out again, and nobody pays.
  for (const [index, { header, body }] of purchases.entries()) {
    for (const instance of [0, 1]) {
      const again = await access(instance, body, header)
      expect(again).toMatchObject({ status: 200, body: answers[index]![0]!.body })
      expect(again.headers.get('x-svc-code')).toBe('PROOF_ALREADY_REDEEMED')
    }
  }
  expect(await chain.balanceOf(chain.account(0).address)).toBe(BigInt(BUYERS) * PRICE)
}, 120_000)

test('two authorizations for one challenge on two instances: one transfer, one grant', async () => {
  const buyer = await chain.newBuyer({ micro: 5n * PRICE })
  const before = await chain.balanceOf(chain.account(0).address)
  const body = { planId: 'basic', requestId: 'race' }
  const headers = await Promise.all([0, 1].map((instance) => signedTerms(instance, buyer, body)))
  const answers = await Promise.all(headers.map((header, index) => payUntilDecided(index, header, body)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(answers[0]!.body).toEqual(answers[1]!.body)
  expect((await chain.balanceOf(chain.account(0).address)) - before).toBe(PRICE)
})
