import { setTimeout as sleep } from 'node:timers/promises'
import { startDevChain } from '../src/testing/dev-chain.ts'
import { type Compared, compare, SIDES, type Side } from './compare.ts'
import { runLoad } from './load.ts'
import { ADMIN_TOKEN, look, measureLooks, stream } from './measure-looks.ts'
import { buy, type Payment, preparePayments } from './payments.ts'
import type { SoldStore } from './sold-stores.ts'
import { sellerOf, startOurs, type Target } from './targets.ts'

export interface SalesSettings {
  rounds: number
  concurrency: number
  /** Per round. */
  purchases: number
  warmUp: number
  looks: number
  rows: number
  /** Of the export and the ledger of everything, at most. */
  streamed: number
  starts: number
  /** How long a server that has just started is watched while nobody asks anything. */
  idleMs: number
}

const PAYERS = 256
const MIB = 2 ** 20
/** What a heap may breathe while a download goes on. */
export const BREATH_MIB = 64

/** Purchases, dashboard, exports and starts of two gateways, one on a store with few sales and one with many. */
export async function measureSales(
  root: string,
  stores: Record<Side, SoldStore>,
  settings: SalesSettings,
  say: (one: Compared) => void,
): Promise<Compared[]> {
  const { rounds, concurrency, purchases, warmUp } = settings
  const chain = await startDevChain()
  const running: Partial<Record<Side, Target>> = {}
  const env = { ADMIN_TOKEN }
  const start = (side: Side, more: Record<string, string> = {}) =>
    startOurs({
      chain,
      root,
      runningStore: stores[side].env,
      walletAccounts: [side === 'few' ? 1 : 2],
      furtherEnv: { ...env, ...more },
    })
  const all: Compared[] = []
  const note = (...some: Compared[]) => {
    for (const one of some) say(one)
    all.push(...some)
  }
  try {
    const payments: Payment[] = await preparePayments(
      ...([chain, sellerOf(chain), 2 * (warmUp + rounds * purchases), PAYERS] as const),
    )
    for (const side of SIDES) running[side] = await start(side)
    const targets = running as Record<Side, Target>
    const sell = async (side: Side, count: number) => {
      const { url, asking, usage } = targets[side]
      const some = payments.splice(0, count)
      const before = await usage()
      const load = await runLoad(url, concurrency, { count }, (connection, index) =>
        buy(connection, asking, some[index]!),
      )
      if (load.failed > 0) throw new Error(`purchases failed: ${JSON.stringify(load.reasons)}`)
      return {
        ms: (load.seconds * 1000) / count,
        cpuMs: ((await usage()).cpuSeconds - before.cpuSeconds) * (1000 / count),
      }
    }
    for (const side of SIDES) await sell(side, warmUp)
    const cpu: Record<Side, number[]> = { few: [], many: [] }
    note(
      await compare({ what: `purchases, ${concurrency} at once`, unit: 'ms each', rounds }, async (side) => {
        const { ms, cpuMs } = await sell(side, purchases)
        cpu[side].push(cpuMs)
        return ms
      }),
    )
    note(await compare({ what: 'CPU of a purchase', unit: 'ms', rounds }, async (side) => cpu[side].shift()!))
    const sides = { few: lookedAt('few'), many: lookedAt('many') }
    note(...(await measureLooks(sides, settings)))
    note(...(await measureStreams(targets, settings)))
    for (const side of SIDES) await stop(side)
    note(...(await measureStarts(start, settings)))
  } finally {
    for (const side of SIDES) await stop(side)
    await chain.stop()
  }
  return all

  function lookedAt(side: Side) {
    return { target: running[side]!, sold: stores[side] }
  }
  async function stop(side: Side) {
    await running[side]?.stop()
    delete running[side]
  }
}

/** The time of a row of everything, and the memory that a long download takes. */
async function measureStreams(
  targets: Record<Side, Target>,
  { rounds, streamed }: SalesSettings,
): Promise<Compared[]> {
  const all: Compared[] = []
  for (const [what, path] of [
    ['export of everything', '/export?format=csv'],
    ['ledger of everything', '/ledger'],
  ] as const) {
    // Once unmeasured: a part that was never read comes from the disk.
    for (const side of SIDES) await stream(targets[side].url, path, streamed)
    let [calm, most] = [Number.POSITIVE_INFINITY, 0]
    const each = await compare({ what, unit: 'ms each', rounds: Math.min(rounds, 3) }, async (side) => {
      const { url, usage } = targets[side]
      let lines = 0
      let nextLook = 1000
      const { ms, lines: read } = await stream(url, path, streamed, async (now) => {
        lines = now
        if (side === 'few' || now < nextLook) return
        nextLook += Math.max(1000, streamed / 20)
        const mib = (await usage()).rssBytes / MIB
        calm = Math.min(calm, mib)
        most = Math.max(most, mib)
      })
      return ms / Math.max(lines, read)
    })
    all.push(each)
    if (most > 0) {
      const grown = {
        what: `${what}: most memory, against ${BREATH_MIB} MiB more than at first`,
        unit: 'MiB',
      }
      all.push({
        ...grown,
        few: calm + BREATH_MIB,
        many: most,
        ratio: most / (calm + BREATH_MIB),
        promised: true,
      })
    }
  }
  return all
}

/** From the start of the process until it sells; its first look at the sales; what it does when nobody asks. */
async function measureStarts(
  start: (side: Side, more?: Record<string, string>) => Promise<Target>,
  { starts, idleMs }: SalesSettings,
): Promise<Compared[]> {
  const first: Record<Side, number[]> = { few: [], many: [] }
  const idle: Record<Side, number[]> = { few: [], many: [] }
  const kept: Record<Side, number[]> = { few: [], many: [] }
  const run = async (side: Side, more: Record<string, string>, work: (target: Target) => Promise<void>) => {
    const startedMs = performance.now()
    const target = await start(side, more)
    const ms = performance.now() - startedMs
    try {
      await work(target)
    } finally {
      await target.stop()
    }
    return ms
  }
  const cpuOf = async ({ usage }: Target) => {
    const before = await usage()
    await sleep(idleMs)
    return (((await usage()).cpuSeconds - before.cpuSeconds) * 1000) / (idleMs / 1000)
  }
  const began = await compare({ what: 'start until it sells', unit: 'ms', rounds: starts }, (side) =>
    run(side, {}, async (target) => {
      first[side].push(await look(target.url, '/overview?range=all', 1))
      idle[side].push(await cpuOf(target))
    }),
  )
  // Results of sales are to be deleted after ten years: none is due, but all must be found.
  await compare({ what: '', unit: '', rounds: 1 }, (side) =>
    run(side, { RETENTION_DAYS: '3650' }, async (target) => void kept[side].push(await cpuOf(target))),
  )
  const next = (values: Record<Side, number[]>) => async (side: Side) => values[side].shift()!
  return [
    began,
    await compare(
      { what: 'first look at all figures after a start', unit: 'ms', rounds: starts },
      next(first),
    ),
    // A few milliseconds: what one process does beside it weighs as much.
    await compare(
      { what: 'CPU while nobody asks, after a start', unit: 'ms per s', rounds: starts, promised: false },
      next(idle),
    ),
    await compare(
      { what: 'the same with RETENTION_DAYS switched on', unit: 'ms per s', rounds: 1, promised: false },
      next(kept),
    ),
  ]
}
