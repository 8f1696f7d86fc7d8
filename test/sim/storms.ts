import type { Weather } from './weather.ts'

/** What is fixed of a history's weather; the rest is drawn. */
export type Storm = Partial<Omit<Weather, 'config'>> & { config?: Partial<Weather['config']> }

/**
 * Weather in which bugs were once found, or that a random draw does not have: it is visited on purpose. `counts`: what
 * must happen in it about once per history, or it would prove nothing.
 */
export const STORMS: ReadonlyArray<{ name: string; weather: Storm; counts?: string }> = [
  {
    name: 'nodes that lag further behind than finality',
    weather: { stale: 0.4, maxStaleBlocks: 60, finalityBlocks: 15, reorg: 0.06, maxReorgDepth: 8 },
  },
  {
    name: 'several payers of one order, slow delivery, short leases',
    weather: { team: true, buyers: 4, instant: false, config: { deliveryLeaseMs: 1_000, settleWaitMs: 0 } },
  },
  {
    name: 'clocks that disagree on what has expired',
    weather: {
      strategy: 'facilitator',
      instances: 3,
      maxSkewMs: 600_000,
      facilitator: 'refuses-and-sends',
      // Only buyers that start again after "expired" take part.
      cast: ['honest'],
      crash: 0,
      rejected: 0,
      lostAnswer: 0,
      outages: 0,
      team: false,
      buyers: 8,
      horizonMs: 300_000,
      config: { challengeTtlMs: 60_000, jobIntervalMs: 60_000 },
    },
  },
  {
    name: 'transfers as proof, and thieves who watch for them',
    weather: {
      cast: ['transfers', 'claims', 'one-proof', 'transfers'],
      rush: false,
      team: false,
      buyers: 4,
      reorg: 0.06,
      maxReorgDepth: 8,
      config: { challengeTtlMs: 300_000 },
    },
  },
  {
    name: 'paid calls of slow and failing backends',
    weather: {
      cast: ['calls', 'embedded', 'other-call', 'calls'],
      rush: false,
      team: false,
      buyers: 4,
      deliveryFails: 0.6,
      config: { deliveryLeaseMs: 5_000, settleWaitMs: 4_000 },
    },
  },
  {
    name: 'deployments: instances are stopped in the middle of everything, and started again',
    counts: 'stops with requests in hand',
    weather: { stops: 8, crash: 0, instances: 2, horizonMs: 150_000 },
  },
  {
    name: 'a store that loses its last second',
    counts: 'commits lost',
    weather: { losses: 5, stale: 0, maxLatencyMs: 200, deliveryFails: 0.6 },
  },
  {
    name: 'refunds, in blocks that go away',
    counts: 'refund transfers',
    weather: {
      cast: ['honest', 'twice', 'calls'],
      rush: false,
      team: false,
      strategy: 'gas-wallet',
      buyers: 4,
      instant: false,
      deliveryFails: 0.9,
      refunds: 'funded',
      reorg: 0.1,
      maxReorgDepth: 20,
      finalityBlocks: 20,
      blockMs: 1_000,
      horizonMs: 300_000,
      config: { refundIntervalMs: 10_000, jobIntervalMs: 4_000 },
    },
  },
  {
    name: 'payers that waste our gas, and farm refunds, with many payments at once',
    counts: 'payments at once',
    weather: {
      cast: ['wastes', 'farms'],
      rush: false,
      team: false,
      strategy: 'gas-wallet',
      buyers: 3,
      deliveryFails: 0.9,
      inclusion: 0.7,
      config: { challengeTtlMs: 300_000 },
    },
  },
  {
    name: 'a facilitator that refuses refunds, and a refund wallet that gets ETH at some time',
    counts: 'refunds refused by the facilitator',
    weather: {
      cast: ['honest', 'twice', 'calls'],
      rush: false,
      team: false,
      strategy: 'facilitator',
      facilitator: 'honest',
      refusesRefunds: true,
      refundEther: 'late',
      refunds: 'funded',
      buyers: 4,
      instant: false,
      deliveryFails: 0.9,
      finalityBlocks: 4,
      horizonMs: 300_000,
      config: { refundIntervalMs: 10_000, jobIntervalMs: 4_000 },
    },
  },
  {
    name: 'nodes that name blocks which do not exist',
    counts: 'phantom blocks',
    weather: { phantoms: 0.2, stale: 0.1, crash: 0, maxSkewMs: 0, config: { confirmations: 4 } },
  },
  {
    name: 'two chains, one gateway',
    counts: 'signed for another chain',
    weather: {
      chains: 2,
      coupons: false,
      cast: ['honest', 'twice', 'parallel', 'forgetful', 'calls', 'drains', 'self-sent'],
      team: false,
      refunds: 'funded',
      deliveryFails: 0.6,
      instant: false,
      buyers: 4,
    },
  },
  {
    name: 'a scheme of its own on the second chain',
    counts: 'coupons signed',
    weather: {
      chains: 2,
      coupons: true,
      cast: ['honest', 'twice', 'parallel', 'forgetful', 'calls', 'drains', 'self-sent'],
      team: false,
      refunds: 'funded',
      deliveryFails: 0.6,
      instant: false,
      buyers: 4,
    },
  },
]
