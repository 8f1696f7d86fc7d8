import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Store } from '../../src/ports.ts'
import type { Address } from '../../src/protocol/hex.ts'
import { walletRef } from '../../src/settlement/gas-lane.ts'
import { openRedisStore } from '../../src/stores/redis/redis-store.ts'
import { openPostgresStore } from '../../src/stores/sql/postgres.ts'
import { type DevAccount, startPostgres, startRedis } from '../../src/testing/index.ts'
import { type CutProxy, startCutProxy } from '../conformance/cut-proxy.ts'
import { type Answer, eventually, PRICE, startWorld, type World } from './world.ts'

const servers = [
  {
    name: 'Postgres',
    start: startPostgres,
    option: 'databaseUrl',
    open: (url: string): Promise<Store> => openPostgresStore({ url }),
    // As the server says that it has committed.
    written: 'COMMIT\0',
  },
  {
    name: 'Redis',
    start: startRedis,
    option: 'redisUrl',
    open: (url: string) => openRedisStore({ url }),
    written: '',
  },
] as const

/** Steps of a purchase, by what only they write. */
const STEPS = { claim: 'payment-claimed', broadcast: 'BROADCAST', delivery: 'delivered' }

interface Purchase {
  buyer: DevAccount
  challengeId: string
  header: string
}

/** The answer that a fault may give: come again with the same payload. */
function expectPending(answer: Answer): void {
  expect(answer, JSON.stringify(answer.body)).toMatchObject({
    status: 503,
    body: { type: 'Error', code: 'SETTLEMENT_PENDING', retryable: true },
  })
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
}

// Both stores at once: each waits most of its time. Within one, tests share a server and go in turn.
describe.concurrent.each(servers)('a gateway on $name', ({ start, option, open, written }) => {
  let server: Awaited<ReturnType<typeof startRedis | typeof startPostgres>>
  let proxy: CutProxy
  let world: World
  const bought: Purchase[] = []

  beforeAll(async () => {
    server = await start()
    proxy = await startCutProxy(server.port)
    const url = server.url.replace(`:${server.port}`, `:${proxy.port}`)
    const options = { [option]: url, secretKey: 's'.repeat(32), settleWaitSeconds: 1 }
    world = await startWorld({ store: 'embedded', options })
  })
  afterAll(async () => {
    await world?.stop()
    await proxy?.close()
    await server?.stop()
  })

  async function newPurchases(count: number): Promise<Purchase[]> {
    const made: Purchase[] = []
    for (let index = 0; index < count; index++) {
      const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
      const required = await world.terms()
      const header = await world.sign(buyer, required.accepts[0]!)
      made.push({ buyer, challengeId: required.challengeId, header })
    }
    bought.push(...made)
    return made
  }

  const readyStatus = async () => (await fetch(`${world.baseUrl}/ready`)).status

  async function expectServedOnce(purchases: readonly Purchase[]): Promise<void> {
    const answers = await Promise.all(purchases.map(({ header }) => world.payUntilDecided(header)))
    for (const answer of answers) expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    for (const { buyer } of purchases) {
      expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    }
  }

  test.sequential('killed while payments are in flight: 503 and not ready; back again, each buyer is charged once and served', async () => {
    const [inFlight, fresh] = [await newPurchases(4), await newPurchases(4)]
    expect(await readyStatus()).toBe(200)
    await world.chain.setAutomine(false)
    for (const answer of await Promise.all(inFlight.map(({ header }) => world.pay(header)))) {
      expectPending(answer)
    }
    await server.kill()
    // What was sent lands while nobody can write it down.
    await world.chain.setAutomine(true)
    await world.chain.mine()
    for (const answer of await Promise.all([...inFlight, ...fresh].map(({ header }) => world.pay(header)))) {
      expectPending(answer)
    }
    await eventually(async () => (await readyStatus()) === 503)
    expect((await fetch(`${world.baseUrl}/health`)).status, 'alive, only not ready').toBe(200)
    for (const { buyer } of fresh) expect((await world.flows(buyer)).paid, 'no claim, no charge').toEqual([])
    await server.restart()
    await expectServedOnce([...inFlight, ...fresh])
    await eventually(async () => (await readyStatus()) === 200)
  })

  test.sequential('killed at any moment of eight purchases: every answer is 200 or 503, and each buyer is charged once', async () => {
    const purchases = await newPurchases(8)
    const paying = purchases.map(({ header }) => world.pay(header))
    await Promise.race(paying)
    await server.kill()
    const answers = await Promise.all(paying)
    for (const answer of answers) if (answer.status !== 200) expectPending(answer)
    await server.restart()
    await expectServedOnce(purchases)
  })

  test.sequential('cut before and after each write of a purchase: 200 or 503', async () => {
    for (const [step, sent] of Object.entries(STEPS)) {
      for (const when of ['before', 'after'] as const) {
        const [purchase] = await newPurchases(1)
        proxy.cutAt(sent, when, written)
        const answer = await world.pay(purchase!.header)
        // A lost answer is no failure: what was written is found by its key when the buyer comes again.
        if (step === 'claim' || answer.status !== 200) expectPending(answer)
      }
    }
    // Leases must lapse before some of them go on; the last test looks at all of them.
  })

  test.sequential('every answer takes 2 s: 200 or 503, and once it is fast again each buyer is charged once', async () => {
    const purchases = await newPurchases(3)
    proxy.delayMs = 2_000
    const answers = await Promise.all(purchases.map(({ header }) => world.pay(header)))
    for (const answer of answers) if (answer.status !== 200) expectPending(answer)
    proxy.delayMs = 0
    await expectServedOnce(purchases)
    await eventually(async () => (await readyStatus()) === 200)
  }, 120_000)

  test.sequential('in the end every buyer was charged once, nothing is stuck, and the books agree with the chain', async () => {
    await expectServedOnce(bought)
    const store = await open(server.url)
    try {
      const challenges = await store.get(
        'challenges',
        bought.map(({ challengeId }) => challengeId),
      )
      expect(new Set(challenges.map((row) => row?.state))).toEqual(new Set(['DELIVERED']))
      for (const { challengeId } of bought) {
        const attempts = await store.list('authorizations', challengeId)
        expect(attempts.map(({ phase }) => phase)).toEqual(['CONFIRMED'])
        const events = (await store.audit(challengeId)).map(({ event }) => event)
        expect(events.filter((event) => event === 'paid' || event === 'delivered')).toEqual([
          'paid',
          'delivered',
        ])
      }
      const wallet = world.chain.account(1).address.toLowerCase() as Address
      const mined = await world.chain.client.getTransactionCount({ address: wallet })
      const open = await store.list('walletTxs', walletRef(world.chain.chainId, wallet))
      expect(open.filter(({ nonce }) => nonce >= mined)).toEqual([])
      expect(await world.sellerBalance()).toBe(BigInt(bought.length) * PRICE)
    } finally {
      await store.close()
    }
  }, 120_000)
})

test('Redis beside Postgres only carries hints: killed, purchases go on', async () => {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()])
  const options = { databaseUrl: postgres.url, redisUrl: redis.url, secretKey: 's'.repeat(32) }
  const world = await startWorld({ store: 'embedded', options })
  try {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    expect((await world.buy(buyer)).status).toBe(200)
    await redis.kill()
    expect((await world.buy(buyer)).status).toBe(200)
    expect((await fetch(`${world.baseUrl}/ready`)).status).toBe(200)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE, PRICE], refunded: [] })
  } finally {
    await world.stop()
    await redis.stop()
    await postgres.stop()
  }
})
