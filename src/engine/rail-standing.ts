import type { Alerts, Clock, Rail } from '../ports.ts'
import { leastPriceMicro } from '../rules/gas-cost.ts'
import type { RailState } from './outcome.ts'

/** A failed look does not withdraw a rail that was able so recently: one lost answer of a node means little. */
const RECENT_MS = 6_000
/** The least price falls only once the gas is this much cheaper, so that it does not change with every block. */
const CHEAPER = 0.9

/** A price that was offered is taken until the gas costs this many times as much as then: it may rise before the buyer has signed. */
const DEARER = 2

export const CHAIN_UNREADABLE = 'the chain cannot be reached'

type Standing = Pick<RailState, 'withdrawn'> & {
  /** The last time that it was found able to settle; undefined: never. */
  ableAt: number | undefined
  /** In micro-dollars. */
  leastAmount: number
}

/**
 * Which of several rails can be offered now; those of one network stand and fall together. A rail that cannot settle is left out of new offers until a look finds it
 * able again; a further rail is also left out for prices that do not carry its gas. A gateway with one rail always
 * offers it.
 */
export interface RailStandings {
  /** Grows with every change of what may be offered. */
  readonly changes: number
  of(rail: Rail): Pick<RailState, 'withdrawn' | 'leastAmount'>
  /** In the seller's order. With none left, the preferred one. */
  offerable<R extends Rail>(all: readonly R[], amountMicro: string): readonly R[]
  /** Does this price still carry the gas of being settled there? Whoever was not offered a rail can name it all the same. */
  carries(rail: Rail, amountMicro: string): boolean
  /** A look found it able to settle. */
  able(rail: Rail): void
  /** A look failed, or did not answer in time. */
  failed(rail: Rail, reason: string): void
  /** A payment was refused because it cannot settle: this is certain, so it is withdrawn at once. */
  refused(rail: Rail, reason: string): void
  /** What a transaction on it pays per gas now. */
  gasPrice(rail: Rail, wei: bigint): void
}

export function createRailStandings(
  rails: readonly Rail[],
  { clock, alerts, maxGasShare }: { clock: Clock; alerts: Alerts; maxGasShare?: number | undefined },
): RailStandings {
  const standings = new Map<string, Standing>(
    rails.map(({ network }) => [network.id, { withdrawn: null, ableAt: undefined, leastAmount: 0 }]),
  )
  const several = standings.size > 1
  const preferredId = rails[0]?.network.id
  let changes = 0

  function withdraw({ network }: Rail, reason: string): void {
    const standing = standings.get(network.id)!
    if (!several || standing.withdrawn) return
    standing.withdrawn = { reason, since: clock.now() }
    changes++
    alerts.raise('rail-withdrawn', `${network.name} (${network.id}) is left out of new offers: ${reason}`)
  }

  return {
    get changes() {
      return changes
    },
    of({ network }) {
      const { withdrawn, leastAmount } = standings.get(network.id)!
      return { withdrawn, leastAmount: String(leastAmount) }
    },
    offerable(all, amountMicro) {
      if (!several) return all
      const able = all.filter(({ network }) => {
        const { withdrawn, leastAmount } = standings.get(network.id)!
        return withdrawn === null && Number(amountMicro) >= leastAmount
      })
      return able.length > 0 ? able : all.slice(0, 1)
    },
    carries: ({ network }, amountMicro) =>
      Number(amountMicro) * DEARER >= standings.get(network.id)!.leastAmount,
    able({ network }) {
      const standing = standings.get(network.id)!
      standing.ableAt = clock.now()
      if (!standing.withdrawn) return
      standing.withdrawn = null
      changes++
      alerts.raise('rail-returned', `${network.name} (${network.id}) is offered again`)
    },
    failed(rail, reason) {
      const { ableAt } = standings.get(rail.network.id)!
      // A clock that was set back must not keep it on offer for longer.
      if (ableAt === undefined || Math.abs(clock.now() - ableAt) >= RECENT_MS) withdraw(rail, reason)
    },
    refused: withdraw,
    gasPrice({ network }, wei) {
      if (maxGasShare === undefined || network.id === preferredId) return
      const standing = standings.get(network.id)!
      const least = Math.min(Number.MAX_SAFE_INTEGER, leastPriceMicro(network, wei, maxGasShare))
      if (least <= standing.leastAmount && least > standing.leastAmount * CHEAPER) return
      standing.leastAmount = least
      changes++
    },
  }
}
