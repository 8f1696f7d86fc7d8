import { setTimeout as sleep } from 'node:timers/promises'
import type { DevChain } from '../src/testing/dev-chain.ts'
import { startDevChain } from '../src/testing/dev-chain.ts'
import type { ChildServer } from './child-server.ts'
import { headerOf, openConnection, requestText } from './connection.ts'
import { type Limit, median, quantile, runLoad } from './load.ts'
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
  /** Calls to the chain's RPC per purchase; absent where they are not counted. */
  callsEach?: number
  /** The rates of every turn, where it was measured several times. */
  turns?: number[]
  /** How long the purchases before the measurement took. */
  warmUpSeconds?: number
}

const MIB = 2 ** 20
/** Purchases of ours before a paid cell is measured: a server that has just started runs code that is not compiled yet. */
export const WARM_UP_PURCHASES = 1000
/** What follows from a purchase (a look whether it is final, the end of its transaction) comes within this time. */
const QUIET_MS = 8_000
const LONGEST_QUIET_MS = 30_000
/** As many as ever pay at once. */
const PAYERS = 256

/** How many terms per second a server hands out: one request for terms after another, nothing is paid. */
export async function measureUnpaid(
  server: ChildServer,
  asking: Asking,
  { seconds, warmUp, concurrency = 64 }: { seconds: number; warmUp: number; concurrency?: number },
): Promise<Cell> {
  const request = Buffer.from(requestText(asking.method, asking.path, {}, asking.body))
  const work = async (connection: Awaited<ReturnType<typeof openConnection>>) => {
    const { status } = await connection.send(request)
    return status === 402 ? undefined : `HTTP ${status}`
  }
  // By count: on a busy machine a fixed time would leave slower servers cold.
  await runLoad(server.url, concurrency, { count: warmUp }, work)
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
  /** What is bought before, always with a block per transaction. Default: {@link WARM_UP_PURCHASES}. */
  warmUp?: Limit & { count: number }
}

/** Purchases on a fresh chain: each asks for terms, and pays them with a signature made beforehand. */
export async function measurePaid(
  start: (chain: DevChain) => Promise<Target>,
  { concurrency, count, blockTimeSeconds, warmUp = { count: WARM_UP_PURCHASES } }: PaidSettings,
): Promise<Cell> {
  const chain = await startDevChain()
  const seller = sellerOf(chain)
  let target: Target | undefined
  try {
    const payments = await preparePayments(chain, seller, count + warmUp.count, PAYERS)
    target = await start(chain)
    const { url, asking, usage } = target
    const work: Parameters<typeof runLoad>[3] = (connection, index) =>
      buy(connection, asking, payments[index]!)
    const warm = await runLoad(url, Math.max(16, Math.min(concurrency, 64)), warmUp, (connection, index) => {
      return work(connection, count + index)
    })
    if (concurrency === 1) await untilQuiet(chain, usage)
    const receivedBefore = await chain.balanceOf(seller)
    if (blockTimeSeconds) await chain.setIntervalMining(blockTimeSeconds)
    const fromBlock = await chain.client.getBlockNumber({ cacheTime: 0 })
    const before = await usage()
    const load = await runLoad(url, concurrency, { count }, work)
    const after = await usage()
    const received = await chain.balanceOf(seller)
    // A failed answer may still be paid for; a good one that is not would be a false figure.
    const owed = BigInt(load.ok + warm.ok) * PRICE_MICRO
    if (received < owed) throw new Error(`${load.ok + warm.ok} were sold, but the seller has ${received}`)
    const paid = Number((received - receivedBefore) / PRICE_MICRO)
    const calls = after.calls.reduce((sum, one) => sum + one.count, 0)
    return {
      ...cellOf(load, before, after),
      ...(await gasOf(chain, fromBlock, paid)),
      ...(calls > 0 && { callsEach: calls / Math.max(1, load.ok + load.failed) }),
      warmUpSeconds: warm.seconds,
    }
  } finally {
    await target?.stop()
    await chain.stop()
  }
}

/**
 * Lets the chain make the purchases so far final, and waits until nobody asks about them any more: where few things are
 * bought, what follows from the warm-up would be counted as theirs.
 */
async function untilQuiet(chain: DevChain, usage: ChildServer['usage']): Promise<void> {
  await chain.mine(4)
  const startedMs = performance.now()
  let lastCallMs = startedMs
  while (performance.now() - lastCallMs < QUIET_MS && performance.now() - startedMs < LONGEST_QUIET_MS) {
    await sleep(250)
    if ((await usage()).calls.length > 0) lastCallMs = performance.now()
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
  const turns = cells.map(({ perSecond }) => perSecond)
  const maxMs = Math.max(...cells.map((one) => one.maxMs))
  return { ...cell, failed, maxMs, ...(turns.length > 1 && { turns }) }
}

/** Measures each of these so many times, in turns, so that what else the machine does strikes all of them alike. */
export async function measureInTurns(
  times: number,
  measures: Record<string, () => Promise<Cell>>,
  say: (name: string, cell: Cell) => void,
): Promise<Record<string, Cell>> {
  const cells: Record<string, Cell[]> = {}
  for (let turn = 0; turn < times; turn++) {
    const inOrder = Object.entries(measures)
    // Every second turn goes backwards: what a server is measured after is not always the same.
    for (const [name, measure] of turn % 2 === 0 ? inOrder : inOrder.reverse()) {
      const cell = await measure()
      cells[name] = [...(cells[name] ?? []), cell]
      say(name, cell)
    }
  }
  return Object.fromEntries(Object.entries(cells).map(([name, all]) => [name, medianCell(all)]))
}
