import type { Address } from '../../src/protocol/hex.ts'
import type { Network } from '../../src/protocol/network.ts'
import { findNetwork } from '../../src/protocol/networks.ts'
import type { Streams } from './dice.ts'
import { type LostFacts, noLostFacts } from './ports/lost-facts.ts'
import type { Scheduler } from './scheduler.ts'
import type { Weather } from './weather.ts'

export const START_MS = 1_700_000_000_000
/**
 * What one payer may cost us in a day: failed transactions of a wallet with code, each with this much gas, and
 * undelivered calls.
 */
export const LOST_PER_DAY = 3
export const ALONE_GAS = 100_000
/** What gas costs on most chains of a history, in micro-dollars. */
export const MICRO_PER_GAS = 0.2
export const UNDELIVERED_PER_DAY = 4
/** The first is preferred; a history has one to three of them. */
export const SIM_NETWORKS: readonly Network[] = ['base-sepolia', 'base', 'ethereum'].map(
  (word) => findNetwork(word)!,
)
/** The chain whose gas costs so much more that the cheapest item does not carry it. */
export const DEAR_CHAIN = 2
const DEARER = 20
export const PLANS = [
  { planId: 'basic', unitAmount: '$1', credits: 5 },
  { planId: 'pro', unitAmount: '$2.5', credits: 9 },
]
export const ROUTES = [
  { routeId: 'weather', method: 'GET' as const, path: '/weather/:city', unitAmount: '$0.5', credits: 2 },
]
/** Sold by scheme `upto`: the buyer signs the maximum, and the backend says what the call costs. */
export const METERED_ROUTE = {
  ...{ routeId: 'chat', method: 'GET' as const, path: '/chat/:topic' },
  ...{ scheme: 'upto' as const, maxAmount: '$2' },
}
export const METERED_MAX = 2_000_000n
export const STREAM_LIMITS = { perPayer: 2n * METERED_MAX, inAll: 3n * METERED_MAX }
/** The same route in histories whose answers may go out before they are paid. */
export const STREAMED_ROUTE = {
  ...METERED_ROUTE,
  stream: { maxUnpaidPerPayer: '$4', maxUnpaid: '$6' },
}
/** What gas costs on this chain, in wei. */
export function gasPriceOn(network: Network): bigint {
  const micro = network === SIM_NETWORKS[DEAR_CHAIN] ? MICRO_PER_GAS * DEARER : MICRO_PER_GAS
  // Rounded down: a fraction more, and a payment less would fit into a budget.
  return BigInt(Math.floor((micro * 1e12) / network.native.usd))
}

/** The seller raises a price in the middle of some histories: open challenges keep the old one. */
export const DEARER_PLANS = [
  { planId: 'basic', unitAmount: '$1.2', credits: 7 },
  { planId: 'pro', unitAmount: '$2.8', credits: 9 },
]
/** Micro-units, written out here so that no invariant depends on the catalog. */
export const PRICES = new Map([
  ['basic', [1_000_000n, 1_200_000n]],
  ['pro', [2_500_000n, 2_800_000n]],
  ['weather', [500_000n]],
  ['chat', [METERED_MAX]],
])

/** What a plan grants for each of its prices, written out here for the same reason. */
const CREDITS = new Map([
  [
    'basic',
    new Map([
      ['1000000', 5],
      ['1200000', 7],
    ]),
  ],
  [
    'pro',
    new Map([
      ['2500000', 9],
      ['2800000', 9],
    ]),
  ],
])
export const creditsFor = (planId: string, amount: string): number | undefined =>
  CREDITS.get(planId)?.get(amount)

/** The price that was offered for this item; undefined: this price was never offered. */
export function priceOf(itemId: string, amount: string): bigint | undefined {
  return PRICES.get(itemId)?.find((price) => String(price) === amount)
}

export const address = (role: string, index: number): Address =>
  `0x${Buffer.from(role.slice(0, 8).padEnd(8, '.')).toString('hex')}${index.toString(16).padStart(24, '0')}`

export const PAY_TO = address('seller', 1)
export const REFUND_WALLET = address('refunder', 1)

/** What all parts of a history share. */
export interface World extends Streams {
  scheduler: Scheduler
  weather: Weather
  /** The faults are over: calls take no time and do not fail. */
  calm: boolean
  readonly logging: boolean
  count(what: string, by?: number): void
  counters: Map<string, number>
  /** Permits that some block has settled, by key, and what was taken; a reorganisation may have undone it since. */
  settled: Map<string, bigint>
  /** What the store lost, if it ever did. */
  lost: LostFacts
  /** A line for the event log; the text is made only if the log is printed. */
  note(who: string, text: () => string): void
  /** Reports a violation while it happens. */
  violate(invariant: string, what: string): void
  violations: string[]
  log: string[]
}

export function createWorld(
  streams: Streams,
  scheduler: Scheduler,
  weather: Weather,
  logging: boolean,
): World {
  const counters = new Map<string, number>()
  const violations: string[] = []
  const log: string[] = []
  return {
    ...streams,
    scheduler,
    weather,
    calm: false,
    logging,
    counters,
    settled: new Map(),
    lost: noLostFacts(),
    violations,
    log,
    count(what, by = 1) {
      counters.set(what, (counters.get(what) ?? 0) + by)
    },
    note(who, text) {
      if (!logging) return
      const seconds = ((scheduler.now() - START_MS) / 1000).toFixed(3)
      log.push(`${seconds.padStart(9)} ${who.padEnd(9)} ${text()}`)
    },
    violate(invariant, what) {
      violations.push(`${invariant}: ${what}`)
    },
  }
}
