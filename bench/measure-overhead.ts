import { createPublicClient, webSocket } from 'viem'
import { startDevChain } from '../src/testing/dev-chain.ts'
import { type ChainCall, nowMs } from './child-server.ts'
import { type Connection, openConnection, requestText } from './connection.ts'
import { median, quantile, runLoad } from './load.ts'
import { buy, preparePayments } from './payments.ts'
import { sellerOf, startOurs, startPeer } from './targets.ts'

export interface Overhead {
  /** Both exchanges of a purchase: terms, payment, answer. */
  totalP50Ms: number
  /** Of it, while the chain was at work. */
  chainP50Ms: number
  /** What the same answer takes where nobody sells it; 0 for what only exists as something sold. */
  bareP50Ms: number
  /** The rest: ours. */
  ownP50Ms: number
  ownP99Ms: number
  failed: number
}

/** What is bought one at a time: of ours, or a call of the peer in its kindest form. */
export const LONE_PURCHASES = ['plan', 'call', 'embedded', 'peer'] as const
export type LonePurchase = (typeof LONE_PURCHASES)[number]

/** A server that has just started runs code that is not compiled yet. The peer is slower, and makes fewer purchases. */
const WARM_UP = { count: 1600, peerCount: 300, concurrency: 16 }
const PAYERS = 50

interface Span {
  fromMs: number
  toMs: number
}

/** One purchase after another on a fresh chain with automine: what a purchase costs beside the chain. */
export async function measureOverhead(root: string, sells: LonePurchase, count: number): Promise<Overhead> {
  const chain = await startDevChain()
  const warmUp = sells === 'peer' ? WARM_UP.peerCount : WARM_UP.count
  const payments = await preparePayments(chain, sellerOf(chain), warmUp + count, PAYERS)
  const target =
    sells === 'peer' ? await startPeer(chain, 'kindest') : await startOurs({ chain, root, sells })
  const { asking, bare, usage } = target
  const heads = watchHeads(chain.rpcUrl)
  const total: number[] = []
  const own: number[] = []
  const onChain: number[] = []
  const bareMs: number[] = []
  let failed = 0
  try {
    const work: Parameters<typeof runLoad>[3] = (one, index) => buy(one, asking, payments[index]!)
    await runLoad(target.url, WARM_UP.concurrency, { count: warmUp }, work)
    const connection = timed(await openConnection(target.url))
    const direct = bare && timed(await openConnection(bare.url))
    for (const payment of payments.slice(warmUp)) {
      await usage()
      const fault = await buy(connection, asking, payment)
      const spans = connection.spans.splice(0)
      const { calls } = await usage()
      if (direct) {
        await direct.send(requestText('GET', bare.path))
        bareMs.push(sumOf(direct.spans.splice(0)))
      }
      if (fault !== undefined) failed += 1
      else {
        const { toMs } = spans.at(-1)!
        const chainMs = busyMs(calls, heads.minedMs(), toMs)
        total.push(sumOf(spans))
        onChain.push(chainMs)
        own.push(sumOf(spans) - chainMs)
      }
    }
    connection.close()
    direct?.close()
  } finally {
    await heads.close()
    await target.stop()
    await chain.stop()
  }
  const bareP50Ms = bareMs.length > 0 ? median(bareMs) : 0
  own.sort((a, b) => a - b)
  return {
    totalP50Ms: median(total),
    chainP50Ms: median(onChain),
    bareP50Ms,
    ownP50Ms: quantile(own, 0.5) - bareP50Ms,
    ownP99Ms: quantile(own, 0.99) - bareP50Ms,
    failed,
  }
}

/** The same connection; when each exchange began and ended. What the buyer does in between is the buyer's. */
function timed(connection: Connection): Connection & { spans: Span[] } {
  const spans: Span[] = []
  return {
    ...connection,
    spans,
    async send(request) {
      const fromMs = nowMs()
      const answer = await connection.send(request)
      spans.push({ fromMs, toMs: nowMs() })
      return answer
    },
  }
}

const sumOf = (spans: readonly Span[]): number =>
  spans.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)

/** When the newest block was mined. */
function watchHeads(rpcUrl: string) {
  const transport = webSocket(rpcUrl.replace('http', 'ws'), { reconnect: false, keepAlive: false })
  const client = createPublicClient({ transport })
  let minedMs = 0
  const unwatch = client.watchBlockNumber({
    onBlockNumber: () => {
      minedMs = nowMs()
    },
  })
  return {
    minedMs: () => minedMs,
    async close() {
      unwatch()
      await client.transport.getRpcClient().then((socket) => socket.close())
    },
  }
}

/**
 * How long the chain was at work: on an answer, or on the block of the transaction that it had been sent. That block was
 * not there yet when it answered the last look but one.
 */
function busyMs(calls: readonly ChainCall[], minedMs: number, endMs: number): number {
  const inOrder = [...calls].sort((a, b) => a.fromMs - b.fromMs)
  const notYetMs = inOrder.at(-2)?.toMs ?? 0
  let busy = 0
  let covered = 0
  for (const { fromMs, toMs, sends } of inOrder) {
    const until = Math.min(sends ? Math.max(toMs, minedMs, notYetMs) : toMs, endMs)
    busy += Math.max(0, until - Math.max(fromMs, covered))
    covered = Math.max(covered, until)
  }
  return busy
}
