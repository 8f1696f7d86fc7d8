import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { openRedisStore } from '../../src/stores/redis/redis-store.ts'
import {
  type DevAccount,
  type DevChain,
  paymentHeader,
  signAuthorization,
  startDevChain,
} from '../../src/testing/index.ts'
import { type RedisServer, startRedis } from '../../src/testing/redis-server.ts'
import { type Answer, answerOf, PRICE, TOKEN_SECRET } from './world.ts'

const BASE_URL = 'http://gateway.test'
const INSTANCES = 2

let redis: RedisServer
let chain: DevChain
let instances: Gateway[]

beforeAll(async () => {
  redis = await startRedis({ appendfsync: 'always' })
  chain = await startDevChain()
  instances = []
  for (let index = 0; index < INSTANCES; index++) instances.push(await openInstance())
})
afterAll(async () => {
  await Promise.all(instances.map((gateway) => gateway.close()))
  await chain.stop()
  await redis.stop()
})

/** As a load balancer has them: the same settings, one store, one gas wallet. */
async function openInstance(): Promise<Gateway> {
  return createGateway({
    walletAddress: chain.account(0).address,
    network: 'testnet',
    baseUrl: BASE_URL,
    rpcUrl: chain.rpcUrl,
    plans: [{ planId: 'basic', unitAmount: '$1.00' }],
    gasWalletPrivateKey: chain.account(1).privateKey,
    refundWalletPrivateKey: chain.account(0).privateKey,
    tokenSecret: TOKEN_SECRET,
    store: await openRedisStore({ url: redis.url, durability: 'require' }),
    secretKey: 's'.repeat(32),
    pollIntervalMs: 25,
    rateLimitPerMinute: 0,
  })
}

async function access(instance: number, body: object, payment?: string): Promise<Answer> {
  const request = new Request(`${BASE_URL}/x402/access`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(payment && { 'payment-signature': payment }) },
    body: JSON.stringify(body),
  })
  return answerOf(await instances[instance % INSTANCES]!.fetch(request))
}

/** A buyer who follows the rules: the same payload again for as long as the answer is 503. */
async function payUntilDecided(instance: number, body: object, payment: string): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let turn = 0; ; turn++) {
    const answer = await access(instance + turn, body, payment)
    answers.push(answer)
    if (answer.status !== 503) return answers
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    await sleep(100)
  }
}

async function signTerms(instance: number, buyer: DevAccount, body: object): Promise<string> {
  const answer = await access(instance, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(402)
  const required = decodeJsonObject(
    answer.headers.get('payment-required') ?? '',
  ) as unknown as PaymentRequired
  const accepted = required.accepts[0]!
  return paymentHeader({
    accepted,
    ...(await signAuthorization({ account: buyer.account, requirements: accepted })),
  })
}

async function newBuyers(count: number): Promise<DevAccount[]> {
  const buyers: DevAccount[] = []
  for (let index = 0; index < count; index++) buyers.push(await chain.newBuyer({ micro: 5n * PRICE }))
  return buyers
}

/** Each paid once, by what the chain says. */
async function expectChargedOnce(buyers: readonly DevAccount[], sellerBefore: bigint): Promise<void> {
  for (const { address } of buyers) expect(await chain.balanceOf(address)).toBe(4n * PRICE)
  const gained = (await chain.balanceOf(chain.account(0).address)) - sellerBefore
  expect(gained).toBe(BigInt(buyers.length) * PRICE)
}

const sellerBalance = () => chain.balanceOf(chain.account(0).address)

test('50 buyers, each with duplicates to both instances at once, are charged once and served the same grant', async () => {
  const buyers = await newBuyers(50)
  const before = await sellerBalance()
  await Promise.all(
    buyers.map(async (buyer, index) => {
      // Half of them name their request, so that both instances know the challenge before it is paid.
      const body = { planId: 'basic', ...(index % 2 === 0 && { requestId: `request-${index}` }) }
      const payment = await signTerms(index, buyer, body)
      const sent = [0, 1, 2, 3].map((turn) => payUntilDecided(index + turn, body, payment))
      const answers = (await Promise.all(sent)).map((each) => each.at(-1)!)
      for (const answer of answers) expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      expect(new Set(answers.map(({ body: grant }) => JSON.stringify(grant))).size).toBe(1)
    }),
  )
  await expectChargedOnce(buyers, before)
})

test('a grant that one instance sold, the other hands out from the store, to its buyer alone', async () => {
  const [buyer, thief] = (await newBuyers(2)) as [DevAccount, DevAccount]
  const before = await sellerBalance()
  const body = { planId: 'basic', requestId: 'kept' }
  const payment = await signTerms(0, buyer, body)
  const bought = await access(0, body, payment)
  expect(bought.status).toBe(200)
  const again = await access(1, body, payment)
  expect(again).toMatchObject({ status: 200, body: bought.body })
  expect(again.headers.get('x-svc-code')).toBe('PROOF_ALREADY_REDEEMED')
  expect((await access(1, { ...body, requestId: 'else' }, payment)).status).toBe(409)
  const stolen = await signTerms(0, thief, { planId: 'basic', requestId: 'own' })
  expect((await access(1, body, stolen)).status).toBeGreaterThanOrEqual(400)
  await expectChargedOnce([buyer], before)
})

test('Redis killed and restarted while 20 buyers pay: 503, and then each is charged once and served', async () => {
  const buyers = await newBuyers(20)
  const before = await sellerBalance()
  const payments = await Promise.all(
    buyers.map((buyer, index) => signTerms(index, buyer, { planId: 'basic' })),
  )
  const paying = payments.map(async (payment, index) => {
    await sleep(index * 20)
    return payUntilDecided(index, { planId: 'basic' }, payment)
  })
  await sleep(100)
  await redis.kill()
  await sleep(300)
  await redis.restart()
  const answers = await Promise.all(paying)
  for (const each of answers) expect(each.at(-1)!.status, JSON.stringify(each.at(-1)!.body)).toBe(200)
  expect(
    answers.some((each) => each.length > 1),
    'somebody had to wait',
  ).toBe(true)
  await expectChargedOnce(buyers, before)
})

test('what an instance leaves behind when it ends, the others finish', async () => {
  const buyers = await newBuyers(5)
  const before = await sellerBalance()
  const payments = await Promise.all(buyers.map((buyer) => signTerms(0, buyer, { planId: 'basic' })))
  await chain.setAutomine(false)
  const first = payments.map((payment) => access(0, { planId: 'basic' }, payment))
  await sleep(500)
  const closing = instances[0]!.close()
  await chain.setAutomine(true)
  await chain.mine(1)
  await Promise.allSettled(first)
  await closing
  instances[0] = instances[1]!
  const answers = await Promise.all(
    payments.map((payment) => payUntilDecided(1, { planId: 'basic' }, payment)),
  )
  for (const each of answers) expect(each.at(-1)!.status).toBe(200)
  await expectChargedOnce(buyers, before)
})
