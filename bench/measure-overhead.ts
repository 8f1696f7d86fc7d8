import { startDevChain } from '../src/testing/dev-chain.ts'
import { openConnection } from './connection.ts'
import { quantile } from './load.ts'
import { buy, preparePayments } from './payments.ts'
import { startRpcMeter } from './rpc-meter.ts'
import { type OurOptions, sellerOf, startOurs } from './targets.ts'

export interface Overhead {
  /** A whole purchase: terms, payment, answer. */
  totalP50Ms: number
  /** Of it, while a call to the chain was under way. */
  chainP50Ms: number
  /** The rest: ours. */
  ownP50Ms: number
  ownP99Ms: number
  failed: number
}

const WARM_UP = 30

/** One purchase after another on a fresh chain with automine: what a purchase costs beside the chain. */
export async function measureOverhead(
  root: string,
  sells: NonNullable<OurOptions['sells']>,
  count: number,
): Promise<Overhead> {
  const chain = await startDevChain()
  const meter = await startRpcMeter(chain.rpcUrl)
  const payments = await preparePayments(chain, sellerOf(chain), WARM_UP + count)
  const target = await startOurs({ chain, root, sells, rpcUrl: meter.url })
  const total: number[] = []
  const own: number[] = []
  const onChain: number[] = []
  let failed = 0
  try {
    const connection = await openConnection(target.url)
    for (const [index, payment] of payments.entries()) {
      const fromMs = performance.now()
      const fault = await buy(connection, target.asking, payment)
      const toMs = performance.now()
      if (fault !== undefined) failed += 1
      if (index < WARM_UP || fault !== undefined) continue
      const busy = meter.busyMs(fromMs, toMs)
      total.push(toMs - fromMs)
      onChain.push(busy)
      own.push(toMs - fromMs - busy)
    }
    connection.close()
  } finally {
    await target.stop()
    await meter.stop()
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
