import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConfigError } from '../../src/errors.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import type { Put, Store, TableName } from '../../src/ports.ts'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import { findNetwork } from '../../src/protocol/networks.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { railId } from '../../src/rules/rail-id.ts'
import { fingerprint } from '../../src/rules/terms.ts'
import { connectRedis } from '../../src/stores/redis/connect-redis.ts'
import { openRedisStore } from '../../src/stores/redis/redis-store.ts'
import { openPostgresStore } from '../../src/stores/sql/postgres.ts'
import {
  type DevAccount,
  type DevChain,
  paymentHeader,
  signAuthorization,
  startDevChain,
  startPostgres,
  startRedis,
} from '../../src/testing/index.ts'
import { samplePut } from '../../src/testing/store-rows.ts'
import { type Answer, answerOf, eventually, PRICE, TOKEN_SECRET } from './world.ts'

const BASE_URL = 'http://shop.test'

async function runSql(url: string, sql: string): Promise<void> {
  const admin = postgres(url, { max: 1, onnotice: () => {} })
  await admin.unsafe(sql).finally(() => admin.end())
}

async function runRedis(url: string, commands: Array<[string, ...string[]]>): Promise<void> {
  const admin = await connectRedis({ url })
  for (const command of commands) await admin.call(...command)
  admin.close()
}

const stores = [
  {
    name: 'Postgres',
    start: startPostgres,
    open: (url: string): Promise<Store> => openPostgresStore({ url }),
    /** What a later version may do while older ones run. */
    add: (url: string) =>
      runSql(
        url,
        `ALTER TABLE paystile.challenges ADD COLUMN tenant TEXT NOT NULL DEFAULT 'first';
         ALTER TABLE paystile.audit ADD COLUMN trace TEXT;
         CREATE TABLE paystile.disputes (key TEXT PRIMARY KEY, body TEXT NOT NULL);
         CREATE INDEX challenges_by_tenant ON paystile.challenges (tenant);
         INSERT INTO paystile.migrations VALUES (98, 'disputes', '9.8.0', 0)`,
      ),
    /** And what it may not. */
    breakIt: (url: string) =>
      runSql(url, `INSERT INTO paystile.migrations VALUES (99, 'split-rows', '9.9.0', 1)`),
    refusal: /upgraded by a newer paystile \(migration 99, split-rows\); run paystile 9\.9\.0 or newer/,
  },
  {
    name: 'Redis',
    start: startRedis,
    open: (url: string) => openRedisStore({ url }),
    add: (url: string) =>
      runRedis(url, [
        ['set', '{svc:default}:row:disputes:d', '1\0\0\0{}'],
        ['zadd', '{svc:default}:due:disputes', '1', 'd'],
      ]),
    breakIt: (url: string) => runRedis(url, [['set', '{svc:default}:layout', '3']]),
    refusal: /has layout 3, this version of paystile knows 1 and 2\. Update it/,
  },
]

/** As a version would that knows one more field of every row: it marks what it writes. */
function newerStore(store: Store, marked: Map<string, { table: TableName; key: string }>): Store {
  return {
    ...store,
    commit: async (step) => {
      const puts = step.puts.map((put) => {
        const row: object = { ...put.row, later: { by: 'newer' } }
        return { ...put, row } as Put
      })
      const result = await store.commit({ ...step, puts })
      if (result.kind === 'applied') {
        for (const { table, row } of puts) marked.set(`${table}:${row.key}`, { table, key: row.key })
      }
      return result
    },
  }
}

/** Counts what this version writes over a row that the newer one has marked. */
function olderStore(store: Store, rewritten: Set<TableName>): Store {
  return {
    ...store,
    commit: async (step) => {
      const result = await store.commit(step)
      if (result.kind === 'applied') {
        for (const { table, row } of step.puts) if ('later' in row) rewritten.add(table)
      }
      return result
    },
  }
}

describe.each(stores)('two versions on one $name', ({ start, open, add, breakIt, refusal }) => {
  let server: Awaited<ReturnType<typeof startRedis | typeof startPostgres>>
  let chain: DevChain
  let direct: Store
  let older: Gateway
  let newer: Gateway
  const marked: Parameters<typeof newerStore>[1] = new Map()
  const rewritten = new Set<TableName>()
  const alerts: string[] = []
  const told: string[] = []

  async function openGateway(store: Store): Promise<Gateway> {
    return createGateway({
      walletAddress: chain.account(0).address,
      network: 'testnet',
      baseUrl: BASE_URL,
      rpcUrl: chain.rpcUrl,
      plans: [{ planId: 'basic', unitAmount: '$1.00' }],
      gasWalletPrivateKey: chain.account(1).privateKey,
      tokenSecret: TOKEN_SECRET,
      secretKey: 's'.repeat(32),
      store,
      settleWaitSeconds: 1,
      pollIntervalMs: 25,
      refundIntervalSeconds: 1,
      rateLimitPerMinute: 0,
      onAlert: (kind, message) => alerts.push(`${kind}: ${message}`),
      onPaymentReceived: ({ challengeId }) => void told.push(challengeId),
      onRefund: ({ challengeId }) => void told.push(challengeId),
    })
  }

  beforeAll(async () => {
    ;[server, chain] = await Promise.all([start(), startDevChain()])
    direct = await open(server.url)
    await add(server.url)
    older = await openGateway(olderStore(await open(server.url), rewritten))
    newer = await openGateway(newerStore(await open(server.url), marked))
  })
  afterAll(async () => {
    await Promise.all([older?.close(), newer?.close()])
    await direct?.close()
    await Promise.all([server?.stop(), chain?.stop()])
  })

  async function access(gateway: Gateway, body: object, header?: string): Promise<Answer> {
    const headers = { 'content-type': 'application/json', ...(header && { 'payment-signature': header }) }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return answerOf(await gateway.fetch(new Request(`${BASE_URL}/x402/access`, init)))
  }

  async function payUntilDecided(gateway: Gateway, body: object, header: string): Promise<Answer> {
    return eventually(async () => {
      const answer = await access(gateway, body, header)
      return answer.status !== 503 && answer
    })
  }

  async function buy(buyer: DevAccount, body: object, terms: Gateway, payAt: Gateway[]): Promise<string> {
    const { headers } = await access(terms, body)
    const required = decodeJsonObject(headers.get('payment-required') ?? '') as unknown as PaymentRequired
    const accepted = required.accepts[0]!
    const signed = await signAuthorization({ account: buyer.account, requirements: accepted })
    const header = paymentHeader({ accepted, ...signed })
    const answers = await Promise.all(payAt.map((gateway) => payUntilDecided(gateway, body, header)))
    for (const answer of answers) expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    expect(new Set(answers.map(({ body: grant }) => grant.accessToken)).size).toBe(1)
    return required.challengeId
  }

  test('sell together; what only the newer one knows of a row, the older one keeps', async () => {
    const buyers: DevAccount[] = []
    for (let index = 0; index < 12; index++) buyers.push(await chain.newBuyer({ micro: 2n * PRICE }))
    const sold = await Promise.all(
      buyers.map((buyer, index) => {
        const body = { planId: 'basic', requestId: `upgrade-${index}` }
        if (index % 3 === 0) return buy(buyer, body, newer, [older])
        return index % 3 === 1 ? buy(buyer, body, older, [newer]) : buy(buyer, body, newer, [older, newer])
      }),
    )
    const left = await Promise.all(buyers.map(({ address }) => chain.balanceOf(address)))
    expect(left).toEqual(buyers.map(() => PRICE))
    expect(await chain.balanceOf(chain.account(0).address)).toBe(BigInt(buyers.length) * PRICE)
    // Receipts go on to finality, whichever version looks at them.
    await eventually(async () => {
      await chain.mine(1)
      const receipts = (await Promise.all(sold.map((id) => direct.list('receipts', id)))).flat()
      return receipts.length === sold.length && receipts.every(({ finalized }) => finalized)
    })
    const lost: string[] = []
    for (const { table, key } of marked.values()) {
      const [row] = await direct.get(table, [key])
      if (row && !('later' in row)) lost.push(`${table} ${key}`)
    }
    expect(lost).toEqual([])
    expect([...rewritten], 'the older one did write over such rows').toContain('challenges')
  })

  test('values that only the newer one knows are left alone, and stop nothing', async () => {
    const rail = railId(findNetwork('testnet')!, 'exact')
    const unknown = (table: TableName, key: string, more: object): Put => {
      const { row } = samplePut(table, { key, ref: 'dispute', dueAt: 1 })
      return { table, row: { ...row, ...('rail' in row && { rail }), ...more } } as Put
    }
    const wallet = chain.account(1).address.toLowerCase()
    const plan = { kind: 'plan' as const, itemId: 'basic', resourceId: 'default' }
    const bought = { ...plan, fingerprint: fingerprint({ ...plan, resourceHash: '' }), resource: null }
    const payment = {
      receipt: 'r',
      payer: chain.account(3).address,
      txHash: `0x${'1'.repeat(64)}`,
      paidAt: 1,
    }
    const puts = [
      unknown('challenges', 'dispute', {
        state: 'DISPUTED',
        requestId: 'disputed',
        claimed: true,
        ...bought,
        ...payment,
      }),
      {
        table: 'requests',
        row: { ...samplePut('requests', { key: 'disputed' }).row, challengeId: 'dispute' },
      } as Put,
      unknown('authorizations', 'dispute', { challengeId: 'dispute', phase: 'PARKED' }),
      unknown('refunds', 'dispute', { challengeId: 'dispute', phase: 'HELD' }),
      unknown('walletTxs', 'dispute', { phase: 'HELD', wallet, nonce: 0 }),
      unknown('outbox', 'dispute', { challengeId: 'dispute', event: 'disputed' }),
      // Money that came neither by a payment nor by a transfer.
      unknown('receipts', 'proof', { challengeId: 'dispute', source: { kind: 'invoice' } }),
    ]
    expect(await direct.commit({ puts })).toEqual({ kind: 'applied' })
    // Each was taken by a job and put back: that is the new version.
    for (const { table, row } of puts.filter((put) => put.row.dueAt !== null)) {
      const now = await eventually(async () => {
        const [found] = await direct.get(table, [row.key])
        return (found === undefined || found.version > 1) && { found }
      })
      expect(now.found, table).toEqual({ ...row, version: now.found?.version, dueAt: now.found?.dueAt })
      expect(now.found?.dueAt, 'another instance may have it soon').toBeGreaterThan(1)
    }
    const buyer = await chain.newBuyer({ micro: PRICE })
    const sold = await buy(buyer, { planId: 'basic' }, older, [older])
    await eventually(async () => {
      await chain.mine(1)
      return (await direct.list('receipts', sold))[0]?.finalized
    })
    expect(told).toContain(sold)
    expect(told).not.toContain('dispute')
    // Neither new terms nor a refund are promised: an instance of the newer version knows the answer.
    expect(await access(older, { planId: 'basic', requestId: 'disputed' })).toMatchObject({
      status: 503,
      body: { code: 'SETTLEMENT_PENDING' },
    })
    const [disputed] = await direct.get('challenges', ['dispute'])
    expect(disputed?.state).toBe('DISPUTED')
  })

  test('after a breaking change the older one refuses to start, in one line that says what to do', async () => {
    await breakIt(server.url)
    const refused = await open(server.url).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ConfigError)
    expect((refused as ConfigError).message).toMatch(refusal)
    expect((refused as ConfigError).message).not.toContain('\n')
  })
})
