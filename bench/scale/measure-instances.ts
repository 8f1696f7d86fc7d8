import { setTimeout as sleep } from 'node:timers/promises'
import { type DevChain, startDevChain } from '../../src/testing/dev-chain.ts'
import { type ChildServer, startServer } from '../child-server.ts'
import { requestText } from '../connection.ts'
import { fillAccounts } from '../credit-accounts.ts'
import { runLoad, type Work } from '../load.ts'
import { startPrepaid } from '../measure-prepaid.ts'
import { buy, preparePayments } from '../payments.ts'
import { choiceOf } from '../sold-stores.ts'
import { ANSWER_BYTES, bench, sellerOf, startOurs } from '../targets.ts'
import { machineCpuMs } from './machine-cpu.ts'
import { cpuMsOf, type MeasuredPostgres, startMeasuredPostgres } from './postgres-usage.ts'
import type { Taken } from './unit-costs.ts'

export interface InstancesSettings {
  root: string
  /** Buyers at once at each instance. */
  concurrency: number
  /** Of each instance: all have run equally long. */
  units: number
  /** The same, before anything is counted. */
  warmUp: number
  idleSeconds: number
}

/** What the same instances take under load, and while nobody buys. */
export interface InstancesCell {
  busy: Taken
  idle: Taken
}

/** Parts that are started together, and ended in reverse. */
function startedParts() {
  const parts: Array<{ stop(): Promise<void> }> = []
  return {
    also<T extends { stop(): Promise<void> }>(part: T): T {
      parts.unshift(part)
      return part
    },
    async stopAll() {
      for (const part of parts) await part.stop()
    },
  }
}

const PAYERS = 256
const ACCOUNTS = 1000
/** As it is shipped: what an idle instance takes depends on it. */
const POLL_INTERVAL_MS = '1000'

/** Purchases at several instances on one Postgres, each with a gas wallet of its own, or all with the same. */
export async function measurePurchases(
  instances: number,
  settings: InstancesSettings,
  wallets: 'own' | 'shared' = 'own',
): Promise<InstancesCell> {
  const { root, units, warmUp } = settings
  const { also, stopAll } = startedParts()
  try {
    const chain = also(await startDevChain())
    const store = also(await startMeasuredPostgres())
    const payments = await preparePayments(chain, sellerOf(chain), instances * (units + warmUp), PAYERS)
    const servers: Array<Awaited<ReturnType<typeof startOurs>>> = []
    for (let index = 0; index < instances; index++) {
      const walletAccounts = [wallets === 'own' ? 1 + index : 1]
      const runningStore = { DATABASE_URL: store.url }
      servers.push(
        also(
          await startOurs({ chain, root, runningStore, walletAccounts, furtherEnv: { POLL_INTERVAL_MS } }),
        ),
      )
    }
    let next = 0
    const work: Work = (connection) => buy(connection, servers[0]!.asking, payments[next++]!)
    return await measure({ chain, store, servers, beside: [] }, settings, () => work)
  } finally {
    await stopAll()
  }
}

/** Prepaid calls of many accounts; each account calls one instance, or any of them. */
export async function measureCalls(
  instances: number,
  settings: InstancesSettings,
  accounts: 'sticky' | 'spread' = 'sticky',
): Promise<InstancesCell> {
  const { also, stopAll } = startedParts()
  try {
    const chain = also(await startDevChain())
    const store = also(await startMeasuredPostgres())
    const env = { DATABASE_URL: store.url }
    const running = { env, filled: await fillAccounts(choiceOf(env), ACCOUNTS) }
    const backend = also(await startServer(bench('backend.js'), [], { BODY_BYTES: String(ANSWER_BYTES) }))
    const servers: Array<Awaited<ReturnType<typeof startPrepaid>>> = []
    for (let index = 0; index < instances; index++) {
      const ours = { chain, root: settings.root, backendUrl: backend.url, store: 'postgres' as const }
      servers.push(
        also(await startPrepaid({ ...ours, accounts: ACCOUNTS, running, pollMs: POLL_INTERVAL_MS })),
      )
    }
    const workOf = (slot: number): Work => {
      const all = servers[slot]!.bearers.map((authorization) =>
        Buffer.from(requestText('GET', '/paid', { authorization })),
      )
      const requests = accounts === 'spread' ? all : all.filter((_, index) => index % instances === slot)
      return async (connection, index) => {
        const { status } = await connection.send(requests[index % requests.length]!)
        return status === 200 ? undefined : `HTTP ${status}`
      }
    }
    return await measure({ chain, store, servers, beside: [backend] }, settings, workOf)
  } finally {
    await stopAll()
  }
}

interface Site {
  chain: DevChain
  store: MeasuredPostgres
  servers: readonly ChildServer[]
  beside: readonly ChildServer[]
}

async function measure(
  site: Site,
  { concurrency, units, warmUp, idleSeconds }: InstancesSettings,
  workOf: (slot: number) => Work,
): Promise<InstancesCell> {
  const load = async (countEach: number) => {
    const loads = await Promise.all(
      site.servers.map(({ url }, slot) => runLoad(url, concurrency, { count: countEach }, workOf(slot))),
    )
    const reasons = loads.flatMap(({ reasons }) => Object.keys(reasons))
    if (reasons.length > 0) throw new Error(`a unit failed: ${[...new Set(reasons)].join(', ')}`)
    return loads.reduce((sum, { ok }) => sum + ok, 0)
  }
  await load(warmUp)
  const busy = await takenBy(site, () => load(units))
  // What follows from the last purchases comes first, and is not idling.
  await site.chain.mine(4)
  await sleep(idleSeconds * 1000)
  const idle = await takenBy(site, async () => {
    await sleep(idleSeconds * 1000)
    return 0
  })
  return { busy, idle }
}

async function takenBy(site: Site, run: () => Promise<number>): Promise<Taken> {
  const before = await readAll(site)
  const startedMs = performance.now()
  const units = await run()
  const seconds = (performance.now() - startedMs) / 1000
  const after = await readAll(site)
  const grown = (name: Exclude<keyof typeof after, 'rpcCalls'>) => after[name] - before[name]
  return {
    ...{ units, seconds, instances: site.servers.length, rpcCalls: after.rpcCalls },
    ...{ instanceCpuMs: grown('instanceCpuMs'), storeCpuMs: grown('cpuMs'), statements: grown('statements') },
    ...{ writes: grown('writes'), walBytes: grown('walBytes'), rowBytes: grown('rowBytes') },
    ...{ chainCpuMs: grown('chainCpuMs'), restCpuMs: grown('restCpuMs'), diskMs: grown('diskMs') },
    machineCpuMs: grown('machineCpuMs'),
  }
}

async function readAll({ chain, store, servers, beside }: Site) {
  const [used, besideUsed, storeUsed] = await Promise.all([
    Promise.all(servers.map((server) => server.usage())),
    Promise.all(beside.map((server) => server.usage())),
    store.usage(),
  ])
  const { user, system } = process.cpuUsage()
  const msOf = (all: typeof used) => all.reduce((sum, { cpuSeconds }) => sum + cpuSeconds * 1000, 0)
  return {
    ...storeUsed,
    instanceCpuMs: msOf(used),
    chainCpuMs: cpuMsOf(chain.pid),
    restCpuMs: (user + system) / 1000 + msOf(besideUsed),
    machineCpuMs: machineCpuMs(),
    // Since they were last asked for.
    rpcCalls: used.flatMap(({ calls }) => calls).reduce((sum, { count }) => sum + count, 0),
  }
}
