import { createPublicClient, webSocket } from 'viem'
import { startDevChain } from '../src/testing/dev-chain.ts'
import { type ChainCall, nowMs } from './child-server.ts'
import { openConnection } from './connection.ts'
import { quantile } from './load.ts'
import { buy, preparePayments } from './payments.ts'
import { type OurOptions, sellerOf, startOurs } from './targets.ts'

export interface Overhead {
  /** A whole purchase: terms, payment, answer. */
  totalP50Ms: number
  /** Of it, while the chain was at work. */
  chainP50Ms: number
  /** The rest: ours. */
  ownP50Ms: number
  ownP99Ms: number
  failed: number
}

/** A server that has just started runs code that is not compiled yet. */
const WARM_UP = 200

/** One purchase after another on a fresh chain with automine: what a purchase costs beside the chain. */
export async function measureOverhead(
  root: string,
  sells: NonNullable<OurOptions['sells']>,
  count: number,
): Promise<Overhead> {
  const chain = await startDevChain()
  const payments = await preparePayments(chain, sellerOf(chain), WARM_UP + count)
  const target = await startOurs({ chain, root, sells })
  const transport = webSocket(chain.rpcUrl.replace('http', 'ws'), { reconnect: false, keepAlive: false })
  const heads = createPublicClient({ transport })
  let minedMs = 0
  const unwatch = heads.watchBlockNumber({
    onBlockNumber: () => {
      minedMs = nowMs()
    },
  })
  const total: number[] = []
  const own: number[] = []
  const onChain: number[] = []
  let failed = 0
  try {
    const connection = await openConnection(target.url)
    for (const [index, payment] of payments.entries()) {
      await target.usage()
      const fromMs = nowMs()
      const fault = await buy(connection, target.asking, payment)
      const toMs = nowMs()
      const { calls } = await target.usage()
      if (fault !== undefined) failed += 1
      if (index < WARM_UP || fault !== undefined) continue
      const chainMs = busyMs(calls, minedMs, { fromMs, toMs })
      total.push(toMs - fromMs)
      onChain.push(chainMs)
      own.push(toMs - fromMs - chainMs)
    }
    connection.close()
  } finally {
    unwatch()
    await heads.transport.getRpcClient().then((socket) => socket.close())
    await target.stop()
    await chain.stop()
  }
  const at = (values: number[], share: number) =>
    quantile(
      values.sort((a, b) => a - b),
      share,
    )
  return {
    totalP50Ms: at(total, 0.5),
    chainP50Ms: at(onChain, 0.5),
    ownP50Ms: at(own, 0.5),
    ownP99Ms: at(own, 0.99),
    failed,
  }
}

/** How long the chain was at work: on an answer, or on the block of a transaction that it had been sent. */
function busyMs(
  calls: readonly ChainCall[],
  minedMs: number,
  within: { fromMs: number; toMs: number },
): number {
  const spans = calls
    .map(({ fromMs, toMs, sends }) => ({
      fromMs: Math.max(fromMs, within.fromMs),
      toMs: Math.min(sends ? Math.max(toMs, minedMs) : toMs, within.toMs),
    }))
    .sort((a, b) => a.fromMs - b.fromMs)
  let busy = 0
  let covered = within.fromMs
  for (const { fromMs, toMs } of spans) {
    busy += Math.max(0, toMs - Math.max(fromMs, covered))
    covered = Math.max(covered, toMs)
  }
  return busy
}
