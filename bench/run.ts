import { readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { startDevChain } from '../src/testing/dev-chain.ts'
import { judge } from './bars.ts'
import {
  type Cell,
  exampleOf,
  measureInTurns,
  measurePaid,
  measureUnpaid,
  WARM_UP_PURCHASES,
} from './cells.ts'
import { chartOf } from './chart.ts'
import type { ChildServer } from './child-server.ts'
import { median } from './load.ts'
import { measureFlood } from './measure-flood.ts'
import { measureGas } from './measure-gas.ts'
import { LONE_PURCHASES, type LonePurchase, measureOverhead, type Overhead } from './measure-overhead.ts'
import { measurePrepaid } from './measure-prepaid.ts'
import { measureSecondNetwork } from './measure-second-network.ts'
import { measureStored } from './measure-stored.ts'
import { measureStoredSales } from './measure-stored-sales.ts'
import { modeFault } from './modes.ts'
import type { Asking } from './payments.ts'
import { briefCases, fullCases, type Planned } from './plan.ts'
import { prepaidBars } from './prepaid-bars.ts'
import { barLines, docsSection, figure, gasTable, plainTable, prepaidTable, tableOf } from './report.ts'
import { CASES, nameOf, OURS, PEER, type Results, SIX_NETWORKS, TWO_NETWORKS } from './results.ts'
import { runScale } from './scale/run.ts'
import { startFloor, startOurs, startPeer, type Target } from './targets.ts'

const [root = '.', mode, ...rest] = process.argv.slice(2)
const wrong = modeFault(mode)
if (wrong !== undefined) {
  console.error(wrong)
  process.exit(1)
}
const full = mode === '--full'
/** Proves that every part runs; its figures mean nothing and are not kept. */
const quick = mode === '--quick'
const TIMES = quick ? 1 : 3
/** Terms cost little to measure, and a rate of two seconds is at the mercy of its moment. */
const UNPAID_TIMES = quick ? 1 : 9
const OVERHEAD_CALLS = quick ? 10 : 150
const STORED = { few: 100, many: quick ? 1000 : 100_000 }
const WARM_UP = { count: quick ? 16 : WARM_UP_PURCHASES }
const STORED_LOAD = {
  ...(quick ? { concurrency: 16, count: 32 } : { concurrency: 64, count: 1000 }),
  warmUp: WARM_UP,
}
/** Many short turns: the promise is a difference of three percent. */
const SECOND_NETWORK = quick
  ? { rounds: 1, concurrency: 16, purchases: 32, warmUp: 16 }
  : { rounds: 60, concurrency: 64, purchases: 256 }
const FLOOD_REQUESTS = 1_000_000
const WARM_UP_REQUESTS = quick ? 1000 : 20_000
const WARM_UP_AGAIN = 1000
const PREPAID_LOAD = quick
  ? { accounts: 100, seconds: 0.5, times: 1, warmUp: 200 }
  : { accounts: 10_000, seconds: 3, times: TIMES, warmUp: 20_000 }
const MARKS = ['<!-- results -->', '<!-- /results -->'] as const

const startedMs = performance.now()
function line(text: string): void {
  console.log(`${((performance.now() - startedMs) / 1000).toFixed(0).padStart(5)} s  ${text}`)
}

function say(name: string, cell: Cell): void {
  line(`${name}: ${figure(cell.perSecond)}/s, p50 ${figure(cell.p50Ms)} ms, ${cell.failed} failed`)
}

/** Warm at its first turn, and only roused before the others. */
function unpaidOf(server: ChildServer, asking: Asking, seconds: number): () => Promise<Cell> {
  let warmUp = WARM_UP_REQUESTS
  return () => {
    const count = warmUp
    warmUp = WARM_UP_AGAIN
    return measureUnpaid(server, asking, { seconds, warmUp: count })
  }
}

async function measureUnpaidAll(): Promise<Record<string, Cell>> {
  const chain = await startDevChain()
  // Networks with real money, because the table has too few others.
  const six = await Promise.all(
    [8453, 1, 137, 42161, 43114, 143].map((chainId) => startDevChain({ chainId })),
  )
  const started: Array<{ stop(): Promise<void> }> = []
  const also = <T extends { stop(): Promise<void> }>(server: T): T => {
    started.unshift(server)
    return server
  }
  try {
    const ours = also(await startOurs({ chain, root }))
    const peer = also(await startPeer(chain, 'kindest'))
    const like = await exampleOf(ours, ours.asking)
    const two = also(await startOurs({ chain: six[0]!, alsoOn: six.slice(1, 2), root }))
    const all = also(await startOurs({ chain: six[0]!, alsoOn: six.slice(1), root }))
    const floors = await Promise.all(
      ['node:http', 'hono', 'fastify', 'express'].map(async (framework) => {
        const floor = also(await startFloor(framework, like))
        const measure = unpaidOf(floor, ours.asking, framework === 'node:http' ? 2 : 1)
        return [`bare ${framework}`, measure] as const
      }),
    )
    const [bare, ...frameworks] = floors
    // Ours stands beside what it is compared with.
    const measures: Record<string, () => Promise<Cell>> = {
      [PEER]: unpaidOf(peer, peer.asking, 2),
      ...Object.fromEntries([bare!]),
      [OURS]: unpaidOf(ours, ours.asking, 2),
      [TWO_NETWORKS]: unpaidOf(two, two.asking, 2),
      [SIX_NETWORKS]: unpaidOf(all, all.asking, 2),
      ...Object.fromEntries(frameworks),
    }
    return await measureInTurns(UNPAID_TIMES, measures, (name, cell) => say(`unpaid 402, ${name}`, cell))
  } finally {
    for (const server of started) await server.stop()
    await Promise.all([chain, ...six].map((one) => one.stop()))
  }
}

function startSeller({ seller, sells, store, wallets = 1, networks = 1 }: Planned) {
  return async (chain: Awaited<ReturnType<typeof startDevChain>>): Promise<Target> => {
    if (seller === 'peer, kindest form') return startPeer(chain, 'kindest')
    if (seller === 'peer, as shipped') return startPeer(chain, 'shipped')
    const further = networks > 1 ? await startDevChain({ chainId: 421614 }) : undefined
    const target = await startOurs({
      chain,
      ...(further && { alsoOn: [further] }),
      root,
      sells: sells === 'plans' ? 'plan' : 'call',
      wallets,
      store: store ?? 'embedded',
    })
    if (!further) return target
    return {
      ...target,
      async stop() {
        await target.stop()
        await further.stop()
      },
    }
  }
}

/** The longest warm-up of ours so far; the peer has as many seconds for its own. */
let warmUpSeconds = 0

async function measureWarm(one: Planned): Promise<Cell> {
  const isPeer = one.seller !== 'paystile'
  const cell = await measurePaid(startSeller(one), {
    concurrency: one.concurrency,
    count: quick ? Math.min(one.count, one.concurrency) : one.count,
    ...(one.blocks === '2 s blocks' && { blockTimeSeconds: 2 }),
    warmUp: { ...WARM_UP, ...(isPeer && warmUpSeconds > 0 && { seconds: warmUpSeconds }) },
  })
  if (!isPeer) warmUpSeconds = Math.max(warmUpSeconds, cell.warmUpSeconds ?? 0)
  return cell
}

async function measurePaidAll(cases: readonly Planned[]): Promise<Record<string, Cell>> {
  const paid: Record<string, Cell> = {}
  for (const times of [3, 1] as const) {
    const measures = cases
      .filter((one) => one.times === times)
      .map((one) => [nameOf(one), () => measureWarm(one)] as const)
    Object.assign(paid, await measureInTurns(Math.min(times, TIMES), Object.fromEntries(measures), say))
  }
  // In the order of the plan, whatever was measured first.
  return Object.fromEntries(cases.map((one) => [nameOf(one), paid[nameOf(one)]!]))
}

type Overheads = Results['overhead']

/** So short a thing shows what else the machine does at that moment: it is measured now and again during a run. */
async function measureOverheads(): Promise<Overheads> {
  const measured: Partial<Overheads> = {}
  for (const sells of LONE_PURCHASES) {
    measured[sells] = await measureOverhead(root, sells, OVERHEAD_CALLS)
    line(`${sells}, one at a time, beside the chain: p50 ${figure(measured[sells].ownP50Ms)} ms`)
  }
  return measured as Overheads
}

/** The run with the median time of ours; failures of all runs count. */
function medianOverhead(sells: LonePurchase): Overhead {
  const runs = overheads.map((one) => one[sells])
  const middle = median(runs.map(({ ownP50Ms }) => ownP50Ms))
  const failed = runs.reduce((sum, one) => sum + one.failed, 0)
  return { ...runs.find(({ ownP50Ms }) => ownP50Ms === middle)!, failed }
}

const measurePrepaidAll = () =>
  measurePrepaid(root, PREPAID_LOAD, (name, cell) => say(`prepaid, ${name}`, cell))

// What is past one machine has a page of its own.
if (mode === '--scale') process.exit((await runScale(root, rest[0] === '--quick', line)) ? 0 : 1)

// The prepaid calls alone, beside the recorded figures of the peer. Nothing is kept: what is published is one run.
if (mode === '--prepaid') {
  const recorded: Results = JSON.parse(await readFile(join(root, 'bench/results.json'), 'utf8'))
  const cells = await measurePrepaidAll()
  const bars = prepaidBars(cells, recorded.paid[nameOf(CASES.kindest)]!.perSecond)
  console.log(`\n${plainTable(prepaidTable(cells))}\n\n${barLines(bars)}`)
  process.exit(bars.every(({ pass }) => pass) ? 0 : 1)
}

// Gas and calldata of the ways to settle. It depends on no machine and on no other cell, so it stands apart from the table.
if (mode === '--gas') {
  console.log(plainTable(gasTable(await measureGas())))
  process.exit(0)
}

// A thousand and a million stored sales. Fills three stores, which takes the better part of an hour.
if (mode === '--stored') {
  const { text, bars } = await measureStoredSales(root, rest, line)
  console.log(`\n${text}\n\n${barLines(bars)}`)
  process.exit(bars.every(({ pass }) => pass) ? 0 : 1)
}

const unpaid = await measureUnpaidAll()
const overheads = [await measureOverheads()]
const paid = await measurePaidAll(full ? fullCases : briefCases)
if (!quick) overheads.push(await measureOverheads())
const stored = await measureStored(root, STORED, STORED_LOAD)
if (!quick) overheads.push(await measureOverheads())
const secondNetwork = await measureSecondNetwork(root, SECOND_NETWORK)
line(
  `plans, one network and two side by side: ${figure(secondNetwork.one.perSecond)}/s and ${figure(secondNetwork.two.perSecond)}/s`,
)
const prepaid = await measurePrepaidAll()
const measured: Results = {
  at: new Date().toISOString(),
  machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}, Node ${process.versions.node}`,
  unpaid,
  paid,
  overhead: {
    plan: medianOverhead('plan'),
    call: medianOverhead('call'),
    embedded: medianOverhead('embedded'),
    peer: medianOverhead('peer'),
  },
  stored,
  secondNetwork,
  prepaid,
  ...(full && { flood: await measureFlood(root, FLOOD_REQUESTS) }),
}
// What is stored is what is shown: the page and the chart can be made from the file again.
const results: Results = JSON.parse(JSON.stringify(measured, rounded))
const bars = judge(results)
console.log(`\n${plainTable(tableOf(results))}\n\n${barLines(bars)}`)

if (!quick) await keep()
console.log(
  `\n${((performance.now() - startedMs) / 60_000).toFixed(1)} minutes; ${quick ? 'nothing was kept' : 'also in bench/results.json, docs/benchmark.md and docs/benchmark.svg'}`,
)
process.exit(quick || bars.every(({ pass }) => pass) ? 0 : 1)

function rounded(_name: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(6)) : value
}

async function keep(): Promise<void> {
  await writeFile(join(root, 'bench/results.json'), `${JSON.stringify(results, null, 2)}\n`)
  await writeFile(join(root, 'docs/benchmark.svg'), chartOf(results))
  const page = join(root, 'docs/benchmark.md')
  const text = await readFile(page, 'utf8')
  const before = text.slice(0, text.indexOf(MARKS[0]) + MARKS[0].length)
  const after = text.slice(text.indexOf(MARKS[1]))
  await writeFile(page, `${before}\n\n${docsSection(results)}\n\n${after}`)
}
