import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import type { GatewayOptions } from '../../src/config/options.ts'
import { migratePostgres } from '../../src/stores/sql/postgres.ts'
import { type DevChain, startDevChain, startFacilitator } from '../../src/testing/index.ts'
import { startPostgres } from '../../src/testing/postgres-server.ts'
import { startRedis } from '../../src/testing/redis-server.ts'
import { placeSettler } from '../settlement/place-settler.ts'
import { type Outside, type Reach, rpcEffect, startBackend, startProxy, startTokenApi } from './outside.ts'

export type StoreName = 'embedded' | 'redis' | 'postgres'

/** A new store. */
export interface FreshStore {
  options: Partial<GatewayOptions>
  remove(): Promise<void>
}

/** The store servers of a run, shared by everything in it. */
export interface StoreServers {
  fresh(store: StoreName, lane: number): Promise<FreshStore>
  stop(): Promise<void>
}

const TEMPLATE = 'empty_shop'

/** Only the gateway is killed here, never a store: the servers need not write through to the disk. */
export async function startStoreServers(stores: readonly StoreName[]): Promise<StoreServers> {
  const redis = stores.includes('redis') ? await startRedis({ appendfsync: 'everysec' }) : undefined
  const server = stores.includes('postgres') ? await startPostgres({ fsync: false }) : undefined
  const databaseUrl = (name: string) => server!.url.replace(/\/postgres$/, `/${name}`)
  const admin = server && postgres(server.url, { max: 1, onnotice: () => {} })
  if (admin) {
    await admin.unsafe(`CREATE DATABASE ${TEMPLATE}`)
    await migratePostgres(databaseUrl(TEMPLATE))
  }
  let count = 0

  const makers: Record<StoreName, (lane: number) => Promise<FreshStore>> = {
    async embedded() {
      const dataDir = await mkdtemp(join(tmpdir(), 'paystile-crash-'))
      return {
        options: { store: { dataDir } },
        remove: () => rm(dataDir, { recursive: true, force: true }),
      }
    },
    async redis(lane) {
      const url = `${redis!.url}/${lane}`
      const client = new Redis(url)
      await client.flushdb()
      client.disconnect()
      return { options: { redisUrl: url }, remove: async () => {} }
    },
    async postgres() {
      const name = `shop_${++count}`
      await admin!.unsafe(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`)
      return {
        options: { databaseUrl: databaseUrl(name) },
        remove: async () => void (await admin!.unsafe(`DROP DATABASE ${name} WITH (FORCE)`)),
      }
    },
  }
  return {
    fresh: (store, lane) => makers[store](lane),
    async stop() {
      await admin?.end()
      await Promise.all([redis?.stop(), server?.stop()])
    },
  }
}

/** A chain with everything that the gateway talks to, kept from point to point; its clock only goes forward. */
export interface Site {
  lane: number
  chain: DevChain
  rpcUrl: string
  facilitatorUrl: string
  tokenApiUrl: string
  backendUrl: string
  /** Whose effects are watched, and whether the seller's servers work. */
  use(point: { reach: Reach; sellerWorks: boolean } | undefined): void
  /** Milliseconds, by the chain's clock. */
  now(): number
  offsetMs(): number
  /** Advances the time by this much, and mines a block. */
  advance(seconds: number): Promise<void>
  stop(): Promise<void>
}

export async function startSite(lane: number): Promise<Site> {
  const chain = await startDevChain()
  await placeSettler(chain)
  const facilitator = await startFacilitator({ chain })
  let used: { reach: Reach; sellerWorks: boolean } | undefined
  const reach: Reach = (effect, when) => used?.reach(effect, when) ?? Promise.resolve()
  const works = () => used?.sellerWorks ?? true
  const outside: Outside[] = await Promise.all([
    startProxy(chain.rpcUrl, rpcEffect, reach),
    startProxy(facilitator.url, (path) => ({ kind: 'facilitator', path }), reach),
    startTokenApi(works, reach),
    startBackend(works, reach),
  ])
  const [rpcUrl, facilitatorUrl, tokenApiUrl, backendUrl] = outside.map(({ url }) => url)
  let offsetMs = 0
  const site: Site = {
    lane,
    chain,
    rpcUrl: rpcUrl!,
    facilitatorUrl: facilitatorUrl!,
    tokenApiUrl: tokenApiUrl!,
    backendUrl: backendUrl!,
    use(point) {
      used = point
    },
    now: () => Date.now() + offsetMs,
    offsetMs: () => offsetMs,
    async advance(seconds) {
      const { timestamp } = await chain.client.getBlock()
      // A block per transaction, each a second later than the last: the chain may be ahead of us.
      const target = Math.max(Math.ceil(site.now() / 1000), Number(timestamp)) + seconds
      await chain.client.request({ method: 'evm_setTime', params: [target] } as never)
      offsetMs = target * 1000 - Date.now()
      await chain.mine(1)
    },
    async stop() {
      await Promise.all(outside.map((server) => server.close()))
      await facilitator.stop()
      await chain.stop()
    },
  }
  await site.advance(1)
  return site
}
