import type { DevChain } from '../src/testing/dev-chain.ts'
import { startDevChain } from '../src/testing/dev-chain.ts'
import type { ChildServer } from './child-server.ts'
import { headerOf, openConnection, requestText } from './connection.ts'
import { median, quantile, runLoad } from './load.ts'
import { type Asking, buy, PRICE_MICRO, preparePayments } from './payments.ts'
import { sellerOf, type Target } from './targets.ts'

/** One measured cell. Rates count successes only. */
export interface Cell {
  perSecond: number
  ok: number
  failed: number
  reasons: Record<string, number>
  p50Ms: number
  p99Ms: number
  maxMs: number
  cpuMsEach: number
  rssMiB: number
  /** Paid cells only. */
  gasEach?: number
  blocks?: number
}

const MIB = 2 ** 20
const WARM_UP_REQUESTS = 20_000
/** As many as ever pay at once. */
const PAYERS = 256

/** How many terms per second a server hands out: one request for terms after another, nothing is paid. */
export async function measureUnpaid(
  server: ChildServer,
  asking: Asking,
  seconds: number,
  concurrency = 64,
): Promise<Cell> {
  const request = Buffer.from(requestText(asking.method, asking.path, {}, asking.body))
  const work = async (connection: Awaited<ReturnType<typeof openConnection>>) => {
    const { status } = await connection.send(request)
    return status === 402 ? undefined : `HTTP ${status}`
  }
  // By count: on a busy machine a fixed time would leave slower servers cold.
  await runLoad(server.url, concurrency, { count: WARM_UP_REQUESTS }, work)
  const before = await server.usage()
  const load = await runLoad(server.url, concurrency, { seconds }, work)
  return cellOf(load, before, await server.usage())
}

/** The 402 of a server, for floors that answer the same. */
export async function exampleOf(server: ChildServer, { method, path, body }: Asking) {
  const connection = await openConnection(server.url)
  const answer = await connection.send(requestText(method, path, {}, body))
  connection.close()
  const names = answer.head
    .split('\r\n')
    .slice(1)
    .map((line) => line.slice(0, line.indexOf(':')).toLowerCase())
    .filter(
      (name) => !['date', 'connection', 'keep-alive', 'content-length', 'transfer-encoding'].includes(name),
    )
  const headers = Object.fromEntries(names.map((name) => [name, headerOf(answer.head, name) ?? '']))
  return { status: answer.status, headers, body: answer.body.toString() }
}

export interface PaidSettings {
  concurrency: number
  count: number
  /** Default: a block per transaction. */
  blockTimeSeconds?: number
}

/** Purchases on a fresh chain: each asks for terms, and pays them with a signature made beforehand. */
export async function measurePaid(
  start: (chain: DevChain) => Promise<Target>,
  { concurrency, count, blockTimeSeconds }: PaidSettings,
): Promise<Cell> {
  const chain = await startDevChain()
  const seller = sellerOf(chain)
  const warmUp = Math.min(concurrency, 16)
  let target: Target | undefined
  try {
    const payments = await preparePayments(chain, seller, count + warmUp, PAYERS)
    target = await start(chain)
    const { url, asking, usage } = target
    const work: Parameters<typeof runLoad>[3] = (connection, index) =>
      buy(connection, asking, payments[index]!)
    const warm = await runLoad(url, warmUp, { count: warmUp }, (connection, index) => {
      return work(connection, count + index)
    })
    if (blockTimeSeconds) await chain.setIntervalMining(blockTimeSeconds)
    const fromBlock = await chain.client.getBlockNumber({ cacheTime: 0 })
    const before = await usage()
    const load = await runLoad(url, concurrency, { count }, work)
    const cell = cellOf(load, before, await usage())
    const received = await chain.balanceOf(seller)
    // A failed answer may still be paid for; a good one that is not would be a false figure.
    const owed = BigInt(load.ok + warm.ok) * PRICE_MICRO
    if (received < owed) throw new Error(`${load.ok + warm.ok} were sold, but the seller has ${received}`)
    return { ...cell, ...(await gasOf(chain, fromBlock, Number(received / PRICE_MICRO) - warm.ok)) }
  } finally {
    await target?.stop()
    await chain.stop()
  }
}

async function gasOf(chain: DevChain, fromBlock: bigint, paid: number) {
  const last = await chain.client.getBlockNumber({ cacheTime: 0 })
  let gas = 0n
  let blocks = 0
  for (let number = fromBlock + 1n; number <= last; number++) {
    const { gasUsed, transactions } = await chain.client.getBlock({ blockNumber: number })
    gas += gasUsed
    if (transactions.length > 0) blocks += 1
  }
  return { gasEach: Math.round(Number(gas) / paid), blocks }
}

type Used = Awaited<ReturnType<ChildServer['usage']>>

export function cellOf(load: Awaited<ReturnType<typeof runLoad>>, before: Used, after: Used): Cell {
  return {
    perSecond: load.ok / load.seconds,
    ok: load.ok,
    failed: load.failed,
    reasons: load.reasons,
    p50Ms: quantile(load.latenciesMs, 0.5),
    p99Ms: quantile(load.latenciesMs, 0.99),
    maxMs: load.latenciesMs.at(-1) ?? Number.NaN,
    cpuMsEach: ((after.cpuSeconds - before.cpuSeconds) * 1000) / Math.max(1, load.ok + load.failed),
    rssMiB: after.rssBytes / MIB,
  }
}

/** The run with the median rate; but failures of all runs count, and so does the longest wait of any. */
export function medianCell(cells: readonly Cell[]): Cell {
  const middle = median(cells.map(({ perSecond }) => perSecond))
  const cell = cells.find(({ perSecond }) => perSecond === middle)!
  const failed = cells.reduce((sum, one) => sum + one.failed, 0)
  return { ...cell, failed, maxMs: Math.max(...cells.map(({ maxMs }) => maxMs)) }
}

/** Measures each of these so many times, in turns, so that what else the machine does strikes all of them alike. */
export async function measureInTurns(
  times: number,
  measures: Record<string, () => Promise<Cell>>,
  say: (name: string, cell: Cell) => void,
): Promise<Record<string, Cell>> {
  const cells: Record<string, Cell[]> = {}
  for (let turn = 0; turn < times; turn++) {
    for (const [name, measure] of Object.entries(measures)) {
      const cell = await measure()
      cells[name] = [...(cells[name] ?? []), cell]
      say(name, cell)
    }
  }
  return Object.fromEntries(Object.entries(cells).map(([name, all]) => [name, medianCell(all)]))
}
