import type { BookDay, BookHours, StoredTally } from '../../ports.ts'
import { microToDollars } from '../../protocol/amount.ts'
import { DAY_MS, HOUR_MS } from '../../protocol/duration.ts'

export const RANGES = ['24h', '7d', '30d', 'all'] as const
export type Range = (typeof RANGES)[number]

const QUARTER_MS = 6 * HOUR_MS
/** Hours and quarters of a day are kept for a month; days for ever. */
const KEPT_MS = 32 * DAY_MS
const MAX_SAMPLES = 10_000

export type Step = 'challenges' | 'paid' | 'delivered' | 'refunded'
export interface Item {
  kind: 'plan' | 'route'
  itemId: string
  amount: string
  /** CAIP-2. */
  network: string
}

interface Sold {
  sold: number
  micro: bigint
}

interface Tally extends Record<Step, number> {
  micro: bigint
  items: Map<string, Sold & { kind: Item['kind']; id: string }>
  networks: Map<string, Sold & { network: string }>
}

const newTally = (): Tally => {
  return {
    challenges: 0,
    paid: 0,
    delivered: 0,
    refunded: 0,
    micro: 0n,
    items: new Map(),
    networks: new Map(),
  }
}

/** Sums over time. Only delivered sales are revenue: money for anything else is refunded. */
export interface SaleFigures {
  count(step: Step, at: number, item: Item | undefined): void
  /** A reorganisation of the chain removed the payment of a delivered sale. */
  lose(at: number, item: Item): void
  /** How long a settlement took. */
  sample(at: number, ms: number): void
  report(range: Range, nowMs: number): ReturnType<typeof reportOf>
  /** Adds what was counted before. */
  restore(days: readonly BookDay[], hours: readonly BookHours[]): void
}

export function createSaleFigures(): SaleFigures {
  const hours = createUnits(HOUR_MS, KEPT_MS)
  const quarters = createUnits(QUARTER_MS, KEPT_MS)
  const days = createUnits(DAY_MS, Number.POSITIVE_INFINITY)
  const all = [hours, quarters, days]
  const samples: Array<{ at: number; ms: number }> = []

  function earn(tally: Tally, { kind, itemId, amount, network }: Item, sign: 1 | -1): void {
    const micro = BigInt(sign) * BigInt(amount)
    add(tally.items, `${kind} ${itemId}`, { kind, id: itemId, sold: sign, micro })
    add(tally.networks, network, { network, sold: sign, micro })
    tally.micro += micro
  }

  return {
    count(step, at, item) {
      for (const { tallyAt } of all) {
        const tally = tallyAt(at)
        tally[step] += 1
        if (step === 'delivered' && item) earn(tally, item, 1)
      }
    },
    lose(at, item) {
      for (const { tallyAt } of all) earn(tallyAt(at), item, -1)
    },
    sample(at, ms) {
      samples.push({ at, ms })
      if (samples.length > MAX_SAMPLES) samples.splice(0, samples.length - MAX_SAMPLES)
    },
    report: (range, nowMs) => {
      const units = { '24h': hours, '7d': quarters, '30d': days, all: days }[range]
      return reportOf(range, nowMs, units, samples)
    },
    restore(storedDays, storedHours) {
      for (const { day, tally } of storedDays) restoreOne(days, day * DAY_MS, tally)
      for (const { hour, tally } of storedHours.flatMap((one) => one.hours))
        for (const units of [hours, quarters]) restoreOne(units, hour * HOUR_MS, tally)
    },
  }
}

/** Sums of equally long times, the first of which begins with the epoch. */
interface Units {
  unitMs: number
  tallies: Map<number, Tally>
  tallyAt(at: number): Tally
}

function createUnits(unitMs: number, keptMs: number): Units {
  const tallies = new Map<number, Tally>()
  let newest = Number.NEGATIVE_INFINITY
  return {
    unitMs,
    tallies,
    tallyAt(at) {
      const unit = Math.floor(at / unitMs)
      const known = tallies.get(unit)
      if (known) return known
      const tally = newTally()
      newest = Math.max(newest, unit)
      const oldest = newest - keptMs / unitMs
      // What is too old to be shown is counted for nobody.
      if (unit < oldest) return tally
      tallies.set(unit, tally)
      for (const key of tallies.keys()) if (key < oldest) tallies.delete(key)
      return tally
    },
  }
}

function restoreOne({ tallyAt }: Units, at: number, stored: StoredTally): void {
  const { challenges, paid, delivered, refunded, items } = stored
  // A day may have entries of the log, and nothing to count.
  if (challenges + paid + delivered + refunded + items.length > 0) merge(tallyAt(at), tallyOf(stored))
}

function tallyOf({ challenges, paid, delivered, refunded, items, networks }: StoredTally): Tally {
  const sold = items.map((item) => ({ ...item, micro: BigInt(item.micro) }))
  return {
    ...{ challenges, paid, delivered, refunded },
    micro: sold.reduce((sum, { micro }) => sum + micro, 0n),
    items: new Map(sold.map((item) => [`${item.kind} ${item.id}`, item])),
    networks: new Map(networks.map((one) => [one.network, { ...one, micro: BigInt(one.micro) }])),
  }
}

/** Whole hours, quarters or days, in UTC, the current one included. */
function reportOf(
  range: Range,
  nowMs: number,
  { unitMs, tallies }: Units,
  samples: ReadonlyArray<{ at: number; ms: number }>,
) {
  const last = Math.floor(nowMs / unitMs)
  const points = { '24h': 24, '7d': 28, '30d': 30, all: 0 }[range]
  const first = range === 'all' ? Math.min(last, ...tallies.keys()) : last - (points - 1)
  const total = newTally()
  const series = []
  for (let unit = first; unit <= last; unit++) {
    const point = tallies.get(unit) ?? newTally()
    merge(total, point)
    const { items: _items, networks: _networks, micro, ...steps } = point
    series.push({ at: new Date(unit * unitMs).toISOString(), ...steps, micro: micro.toString() })
  }
  const { challenges, paid, delivered, refunded, micro } = total
  const perItem = dearestFirst(total.items)
  const perNetwork = dearestFirst(total.networks)
  return {
    funnel: { challenges, paid, delivered, refunded },
    revenue: {
      ...money(micro),
      perItem: perItem.map((item) => ({ ...item, ...money(item.micro) })),
      perNetwork: perNetwork.map((one) => ({ ...one, ...money(one.micro) })),
    },
    latencyMs: latencyOf(samples.filter(({ at }) => at >= first * unitMs).map(({ ms }) => ms)),
    series,
  }
}

function dearestFirst<T extends Sold>(sums: ReadonlyMap<string, T>): T[] {
  return [...sums.values()].sort((a, b) => (b.micro > a.micro ? 1 : b.micro < a.micro ? -1 : 0))
}

/** The sums are changed in place: a chart of a week adds up hundreds of them. */
function add<T extends Sold>(sums: Map<string, T>, key: string, more: T): void {
  const known = sums.get(key)
  if (!known) return void sums.set(key, { ...more })
  known.sold += more.sold
  known.micro += more.micro
}

function money(micro: bigint): { micro: string; usd: string } {
  const usd = micro < 0n ? `-${microToDollars(-micro)}` : microToDollars(micro)
  return { micro: micro.toString(), usd }
}

function merge(into: Tally, from: Tally): void {
  for (const step of ['challenges', 'paid', 'delivered', 'refunded'] as const) into[step] += from[step]
  into.micro += from.micro
  for (const [key, sold] of from.items) add(into.items, key, sold)
  for (const [key, sold] of from.networks) add(into.networks, key, sold)
}

function latencyOf(all: number[]): { p50: number | null; p95: number | null; samples: number } {
  const sorted = all.sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
  return { p50: at(0.5), p95: at(0.95), samples: sorted.length }
}
