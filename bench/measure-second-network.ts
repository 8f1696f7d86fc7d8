import { startDevChain } from '../src/testing/dev-chain.ts'
import { type Cell, cellOf, medianCell, WARM_UP_PURCHASES } from './cells.ts'
import { runLoad } from './load.ts'
import { buy, preparePayments } from './payments.ts'
import { sellerOf, startOurs, type Target } from './targets.ts'

export interface SecondNetwork {
  one: Cell
  two: Cell
}

interface Settings {
  rounds: number
  concurrency: number
  /** Per round and gateway. */
  purchases: number
  warmUp?: number
}

const PAYERS = 256

/**
 * Plans bought of two gateways that run side by side on one chain, in short turns; the second is paid on a further network
 * too. What is asked for is a difference of a few percent, and what the machine does strikes neighbouring turns alike.
 */
export async function measureSecondNetwork(
  root: string,
  { rounds, concurrency, purchases, warmUp = WARM_UP_PURCHASES }: Settings,
): Promise<SecondNetwork> {
  const chain = await startDevChain()
  const further = await startDevChain({ chainId: 421614 })
  const started: Target[] = []
  try {
    const payments = await preparePayments(chain, sellerOf(chain), 2 * (warmUp + rounds * purchases), PAYERS)
    const start = async (more: Omit<Parameters<typeof startOurs>[0], 'chain' | 'root'>) => {
      const target = await startOurs({ chain, root, ...more })
      started.push(target)
      return target
    }
    const targets = {
      one: await start({ walletAccounts: [1] }),
      two: await start({ walletAccounts: [2], alsoOn: [further] }),
    }
    const sell = async ({ url, asking, usage }: Target, count: number): Promise<Cell> => {
      const some = payments.splice(0, count)
      const before = await usage()
      const load = await runLoad(url, concurrency, { count }, (connection, index) =>
        buy(connection, asking, some[index]!),
      )
      return cellOf(load, before, await usage())
    }
    for (const target of started) await sell(target, warmUp)
    const cells: Record<keyof typeof targets, Cell[]> = { one: [], two: [] }
    for (let round = 0; round < rounds; round++) {
      const order = ['one', 'two'] as const
      for (const name of round % 2 === 0 ? order : order.toReversed())
        cells[name].push(await sell(targets[name], purchases))
    }
    return { one: wholeOf(cells.one), two: wholeOf(cells.two) }
  } finally {
    for (const target of started) await target.stop()
    await chain.stop()
    await further.stop()
  }
}

/** Rates over all turns together: their median is a less exact figure than their mean, and one of a few percent is asked for. */
function wholeOf(turns: readonly Cell[]): Cell {
  const sumOf = (figure: (turn: Cell) => number): number => turns.reduce((sum, turn) => sum + figure(turn), 0)
  const ok = sumOf((turn) => turn.ok)
  return {
    ...medianCell(turns),
    ok,
    perSecond: ok / sumOf((turn) => turn.ok / turn.perSecond),
    cpuMsEach:
      sumOf((turn) => turn.cpuMsEach * (turn.ok + turn.failed)) / sumOf(({ ok, failed }) => ok + failed),
  }
}
