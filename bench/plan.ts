import { CASES, type PaidCase } from './results.ts'

/** A case, how many purchases it makes and how often. */
export type Planned = PaidCase & { count: number; times: 1 | 3 }

/** What the bars need. */
export const briefCases: readonly Planned[] = [
  { ...CASES.plans, count: 1500, times: 3 },
  { ...CASES.redis, count: 1500, times: 3 },
  { ...CASES.postgres, count: 1500, times: 3 },
  { ...CASES.kindest, count: 192, times: 3 },
  { ...CASES.shipped, count: 96, times: 1 },
  { ...CASES.crowd, count: 256, times: 3 },
  { ...CASES.peerCrowd, count: 256, times: 1 },
  { ...CASES.alone, count: 60, times: 1 },
  { ...CASES.aloneSlow, count: 10, times: 1 },
  { ...CASES.peerAlone, count: 20, times: 1 },
  { ...CASES.peerAloneSlow, count: 10, times: 1 },
]

const LEVELS = [1, 16, 64, 256] as const
/** Purchases per cell: a few seconds' worth. */
const OURS_COUNT = { 1: 60, 16: 800, 64: 1500, 256: 2000 }
const PEER_COUNT = { 1: 20, 16: 96, 64: 192, 256: 256 }
const SLOW_COUNT = { 1: 10, 16: 48, 64: 192, 256: 512 }

const matrix = LEVELS.flatMap((concurrency) =>
  (['automine', '2 s blocks'] as const).flatMap((blocks): Planned[] => {
    const shared = { concurrency, blocks, times: 3 as const }
    const ours = blocks === 'automine' ? OURS_COUNT[concurrency] : SLOW_COUNT[concurrency]
    const peers = blocks === 'automine' ? PEER_COUNT[concurrency] : Math.min(256, SLOW_COUNT[concurrency])
    return [
      { seller: 'paystile', sells: 'plans', store: 'embedded', ...shared, count: ours },
      { seller: 'paystile', sells: 'calls', store: 'embedded', ...shared, count: ours },
      { seller: 'peer, kindest form', sells: 'calls', ...shared, count: peers },
      { seller: 'peer, as shipped', sells: 'calls', ...shared, times: 1, count: peers },
    ]
  }),
)

/** Every store, and more gas wallets, where there is most to do. */
const widened = LEVELS.slice(2).flatMap((concurrency): Planned[] => {
  const shared = { seller: 'paystile', sells: 'plans', concurrency, blocks: 'automine', times: 3 } as const
  const count = OURS_COUNT[concurrency]
  return [
    { ...shared, store: 'redis', count },
    { ...shared, store: 'postgres', count },
    { ...shared, store: 'embedded', wallets: 2, count },
    { ...shared, store: 'embedded', wallets: 4, count },
    { ...shared, store: 'embedded', networks: 2, count },
  ]
})

/** The whole matrix; it holds the cases of the bars too. */
export const fullCases: readonly Planned[] = [...matrix, ...widened]
