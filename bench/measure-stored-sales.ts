import { type Compared, comparedBars, comparedTable } from './compare.ts'
import type { Bar } from './judge.ts'
import { measureSales, type SalesSettings } from './measure-sales.ts'
import { plainTable } from './report.ts'
import { type SoldStore, type StoreKind, startSoldStore } from './sold-stores.ts'

export const KINDS: readonly StoreKind[] = ['embedded', 'postgres', 'redis']
const COUNTS = { few: 1000, many: 1_000_000 }
const SAID_EVERY = 100_000

const SETTINGS: SalesSettings = {
  ...{ rounds: 7, concurrency: 64, purchases: 300, warmUp: 1000, looks: 50, rows: 400 },
  ...{ streamed: 50_000, starts: 3, idleMs: 8000 },
}

/** Everything about a million stored sales beside a thousand, store after store; `names` chooses some. */
export async function measureStoredSales(
  root: string,
  names: readonly string[],
  line: (text: string) => void,
  counts: { few: number; many: number } = COUNTS,
  settings: SalesSettings = SETTINGS,
): Promise<{ text: string; bars: Bar[]; measured: Map<StoreKind, Compared[]> }> {
  const unknown = names.find((name) => !KINDS.some((kind) => kind === name))
  if (unknown !== undefined)
    throw new Error(`${unknown} is no store: name some of ${KINDS.join(', ')}, or none.`)
  const measured = new Map<StoreKind, Compared[]>()
  for (const kind of KINDS.filter((one) => names.length === 0 || names.includes(one))) {
    const started: SoldStore[] = []
    const startOne = async (count: number) => {
      const store = await startSoldStore(kind, count, (done) => {
        if (done % SAID_EVERY === 0) line(`${kind}: ${done} sales stored`)
      })
      started.push(store)
      return store
    }
    try {
      const stores = { few: await startOne(counts.few), many: await startOne(counts.many) }
      const all = await measureSales(root, stores, settings, ({ what, unit, few, many, ratio }) =>
        line(
          `${kind}, ${what}: ${few.toPrecision(3)} and ${many.toPrecision(3)} ${unit}, ${ratio.toFixed(2)}×`,
        ),
      )
      measured.set(kind, all)
    } finally {
      for (const store of started) await store.stop()
    }
  }
  const tables = [...measured].map(([kind, all]) => plainTable(comparedTable(kind, all)))
  const bars = [...measured].flatMap(([kind, all]) => comparedBars(kind, all))
  return { text: tables.join('\n\n'), bars, measured }
}
