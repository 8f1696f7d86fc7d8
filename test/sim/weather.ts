import type { Streams } from './dice.ts'

const DAY_MS = 86_400_000

/** The settings of a history: drawn once, so that some are calm in one respect and full of faults in another. */
export interface Weather {
  rush: boolean
  strategy: 'gas-wallet' | 'facilitator'
  /** The number of chains that the gateway sells on. */
  chains: 1 | 2 | 3
  /** Of several chains, how often one cannot settle for a longer time. */
  railOutages: number
  /** On the last chain buyers pay with coupons, a scheme that exists only in the tests. */
  coupons: boolean
  instances: number
  gasWallets: number
  /** How often an operator stops an instance and starts it again. */
  stops: number
  /** How often the store loses its last second, with everything that was committed in it. */
  losses: number
  /** Probability per port call. */
  crash: number
  lostAnswer: number
  rejected: number
  maxLatencyMs: number
  /** Milliseconds that an instance's clock is off. */
  maxSkewMs: number
  blockMs: number
  /** Probability that a block includes a given transaction. */
  inclusion: number
  dropped: number
  finalityBlocks: number
  /** Probability per block. */
  reorg: number
  maxReorgDepth: number
  stale: number
  maxStaleBlocks: number
  /** Probability that an answer names a latest block that does not exist, far in the future. */
  phantoms: number
  outages: number
  feeSpikes: boolean
  facilitator: 'moody' | 'honest' | 'refuses-and-sends'
  instant: boolean
  deliveryFails: number
  refunds: 'funded' | 'poor' | 'no-key' | 'seller'
  /** ETH of the refund wallet, which then sends refunds itself. */
  refundEther: 'some' | 'late' | 'none'
  /** The facilitator sends payments, but never a refund. */
  refusesRefunds: boolean
  /** When the seller raises a price; null: never. */
  dearerAfterMs: number | null
  /** The share of those buyers who pay by MPP, of those who could. */
  mpp: number
  /** The share of those buyers who spend credits, and of those who steal them. */
  credits: number
  /** How long what was bought runs. */
  accessMs: number
  /** How often the operator closes a purchase. */
  closings: number
  /** The seller has an endpoint that is told of events. */
  webhooks: boolean
  /** Probability that it refuses a request, or takes it and loses the answer. */
  endpointFails: number
  /** It is down until the faults are over. */
  endpointDown: boolean
  /** The share of those buyers who make metered calls; they are sold where gas wallets settle. */
  metered: number
  /** Answers of metered calls may go out before they are paid. */
  streams: boolean
  /** All buyers pay for one order: only one of them can have it. */
  team: boolean
  /** Kinds of buyers that take part; null: all. */
  cast: readonly string[] | null
  buyers: number
  horizonMs: number
  config: {
    challengeTtlMs: number
    settleWaitMs: number
    pollIntervalMs: number
    storePollMs: number
    gatherMs: number
    quietMs: number
    confirmations: number
    refundIntervalMs: number
    jobIntervalMs: number
    leaseMs: number
    deliveryLeaseMs: number
  }
}

/** What is drawn from another stream than `dice` does not change the rest of a seed's history. */
export function drawWeather({
  dice,
  extraDice,
  mppDice,
  creditDice,
  eventDice,
  meterDice,
  streamDice,
}: Streams): Weather {
  const { pick, int, chance } = dice
  // Many buyers at the same moment, so that payments share a transaction.
  const rush = chance(0.15)
  const horizonMs = pick([60_000, 90_000, 150_000, 300_000])
  return {
    rush,
    strategy: rush ? 'gas-wallet' : pick(['gas-wallet', 'facilitator']),
    instances: rush ? pick([1, 1, 2]) : pick([1, 2, 2, 3]),
    gasWallets: pick([1, 1, 2]),
    stops: extraDice.pick([0, 0, 0, 1, 3]),
    losses: 0,
    crash: pick([0, 0.002, 0.01, 0.03]),
    lostAnswer: pick([0, 0.01, 0.05]),
    rejected: pick([0, 0.01, 0.05]),
    maxLatencyMs: rush ? pick([200, 2_000]) : pick([20, 200, 2_000]),
    maxSkewMs: pick([0, 0, 2_000, 600_000]),
    blockMs: pick([1_000, 2_000, 2_000, 4_000]),
    inclusion: pick([1, 0.7, 0.3]),
    dropped: pick([0, 0, 0.03]),
    finalityBlocks: pick([1, 4, 15, 40, 120]),
    reorg: pick([0, 0, 0.02, 0.06]),
    maxReorgDepth: pick([1, 3, 8, 30]),
    stale: pick([0, 0, 0.1, 0.4]),
    maxStaleBlocks: pick([1, 5, 20, 60]),
    outages: pick([0, 0, 1, 3]),
    feeSpikes: chance(0.3),
    facilitator: pick(['honest', 'moody', 'moody', 'refuses-and-sends']),
    instant: chance(0.5),
    deliveryFails: pick([0, 0.2, 0.6]),
    refunds: pick(['funded', 'funded', 'funded', 'seller', 'seller', 'poor', 'no-key']),
    dearerAfterMs: chance(0.2) ? int(0, horizonMs) : null,
    team: chance(0.12),
    cast: null,
    buyers: rush ? int(5, 8) : int(1, 4),
    horizonMs,
    config: {
      challengeTtlMs: pick([20_000, 60_000, 300_000]),
      settleWaitMs: pick([0, 1_000, 4_000]),
      pollIntervalMs: pick([1_000, 2_000, 5_000]),
      storePollMs: pick([250, 1_000, 3_000]),
      gatherMs: pick([0, 50, 1_000]),
      quietMs: extraDice.pick([5, 100]),
      confirmations: pick([1, 1, 2, 4]),
      refundIntervalMs: pick([10_000, 30_000]),
      jobIntervalMs: Math.max(4_000, Math.round(horizonMs / 15)),
      leaseMs: pick([1_000, 5_000, 20_000]),
      deliveryLeaseMs: pick([1_000, 5_000, 20_000]),
    },
    refundEther: extraDice.pick(['some', 'some', 'late', 'none']),
    refusesRefunds: extraDice.chance(0.4),
    phantoms: extraDice.pick([0, 0, 0, 0, 0.03]),
    chains: extraDice.chance(0.35) ? extraDice.pick([2, 2, 3]) : 1,
    coupons: extraDice.chance(0.4),
    railOutages: extraDice.pick([0, 0, 1, 3]),
    mpp: mppDice.pick([0, 0.3, 0.3, 0.8]),
    credits: creditDice.pick([0, 0, 0.1, 0.3]),
    accessMs: creditDice.pick([DAY_MS, DAY_MS, 40_000]),
    closings: creditDice.pick([0, 0, 1]),
    webhooks: eventDice.chance(0.25),
    endpointFails: eventDice.pick([0, 0.1, 0.4]),
    endpointDown: eventDice.chance(0.3),
    metered: meterDice.pick([0, 0, 0.25, 0.5]),
    streams: streamDice.chance(0.3),
  }
}

/** Nobody but our own wallets may settle a metered call. */
export function sellsMetered({ metered, strategy }: Pick<Weather, 'metered' | 'strategy'>): boolean {
  return metered > 0 && strategy === 'gas-wallet'
}

/** What is fixed of a history's weather; the rest is drawn. */
export type Storm = Partial<Omit<Weather, 'config'>> & { config?: Partial<Weather['config']> }

/**
 * Weather in which bugs were once found, or that a random draw does not have: it is visited on purpose. `counts`: what
 * must happen in it about once per history, or it would prove nothing.
 */
export interface NamedStorm {
  name: string
  weather: Storm
  counts?: string
}
