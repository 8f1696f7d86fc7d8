import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordingEvents } from '../../src/engine/events/record-events.ts'
import { createEventSender } from '../../src/engine/events/send-events.ts'
import type { AuditEntry, Store } from '../../src/ports.ts'
import { openRedisStore } from '../../src/stores/redis/redis-store.ts'
import { openPostgresStore } from '../../src/stores/sql/postgres.ts'
import { openSqliteStore } from '../../src/stores/sql/sqlite.ts'
import { type PostgresServer, startPostgres } from '../../src/testing/postgres-server.ts'
import { type RedisServer, startRedis } from '../../src/testing/redis-server.ts'
import { createWebhooks } from '../../src/webhooks/create-webhooks.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../e2e/webhook-receiver.ts'
import { testCore } from '../engine/test-core.ts'

const INSTANCES = 3
const SALES = 120

let postgres: PostgresServer
let redis: RedisServer
let folder: string
let receiver: WebhookReceiver
beforeAll(async () => {
  postgres = await startPostgres({ fsync: false })
  redis = await startRedis({ appendfsync: 'no' })
  folder = mkdtempSync(join(tmpdir(), 'paystile-webhooks-'))
  receiver = await startWebhookReceiver()
})
afterAll(async () => {
  await receiver.down()
  await postgres.stop()
  await redis.stop()
  rmSync(folder, { recursive: true })
})

const sqlite = () => openSqliteStore({ path: join(folder, 'store.db') })
let embedded: Store | undefined

/** The stores of three instances: three connections, or the one store that only one process can have. */
const stores: Record<string, () => Promise<Store>> = {
  postgres: () => openPostgresStore({ url: postgres.url, schema: 'hooks' }),
  redis: () => openRedisStore({ url: redis.url, gateway: 'hooks', onWarning: () => {} }),
  async sqlite() {
    embedded ??= sqlite()
    return embedded
  },
}

describe.each(Object.keys(stores))('three instances on %s', (name) => {
  test('tell each event once, those of a challenge in order, while sales go on and the endpoint fails', async () => {
    const before = receiver.events.length
    const endpoints = [{ url: receiver.url, secrets: [receiver.secret], events: null }]
    const instances = await Promise.all(
      Array.from({ length: INSTANCES }, async () => {
        const webhooks = createWebhooks({ endpoints, allowHosts: [receiver.host], userAgent: 'test' })
        const plain = await stores[name]!()
        const store = recordingEvents(plain, webhooks.endpoints)
        let skew = 0
        const clock = { now: () => Date.now() + skew, sleep: async () => {}, requestsSent: async () => {} }
        const { core } = testCore({ store, clock })
        const { pass } = createEventSender(core, webhooks)
        const later = (ms: number) => {
          skew += ms
        }
        return { plain, store, webhooks, pass, later }
      }),
    )
    // Every seventh try is refused: such an event is tried again later, and what comes after it waits.
    let tries = 0
    receiver.answer = () => (++tries % 7 === 0 ? 503 : 200)
    const ids = Array.from({ length: SALES }, (_, index) => `${name}-${index}`)
    const sell = ids.map(async (challengeId, index) => {
      const [one, other] = [instances[index % INSTANCES]!, instances[(index + 1) % INSTANCES]!]
      await one.store.commit({ puts: [], audit: [entry(challengeId, 'paid')] })
      await other.store.commit({ puts: [], audit: [entry(challengeId, 'delivered', -3_000)] })
    })
    await Promise.all([...sell, ...instances.map(({ pass }) => pass())])
    receiver.answer = () => 200
    for (let turn = 0; turn < 8; turn++) {
      await Promise.all(instances.map(({ pass }) => pass()))
      for (const { later } of instances) later(70_000)
    }
    const told = receiver.events.slice(before)
    expect(told).toHaveLength(2 * SALES)
    expect(new Set(told.map(({ id }) => id)).size).toBe(2 * SALES)
    for (const id of ids) {
      const types = told.filter(({ data }) => data.challengeId === id).map(({ type }) => type)
      expect(types).toEqual(['payment.settled', 'access.delivered'])
    }
    await Promise.all(instances.map(({ webhooks }) => webhooks.close()))
    await Promise.all([...new Set(instances.map(({ plain }) => plain))].map((store) => store.close()))
  }, 120_000)
})

const entry = (challengeId: string, event: string, skewMs = 0): AuditEntry => ({
  at: Date.now() + skewMs,
  challengeId,
  requestId: challengeId,
  event,
  fromState: 'PAID',
  toState: 'PAID',
  actor: 'gateway',
})
