import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { measureStoredSales } from '../../bench/measure-stored-sales.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const COUNTS = { few: 200, many: 2400 }
const SETTINGS = {
  ...{ rounds: 1, concurrency: 4, purchases: 8, warmUp: 4, looks: 2, rows: 100 },
  ...{ streamed: 1200, starts: 1, idleMs: 100 },
}

// Figures of so small a run mean nothing; that every part was measured does.
test.each(['embedded', 'postgres', 'redis'])(
  'every part of the benchmark of stored sales runs on %s',
  async (store) => {
    const { bars, text, measured } = await measureStoredSales(root, [store], () => {}, COUNTS, SETTINGS)
    const all = [...measured.values()].flat()
    expect(all.map(({ what }) => what)).toEqual(
      expect.arrayContaining([
        ...['purchases, 4 at once', 'figures, all', 'sales, first page', 'search, payer'],
        ...['export of 100 sales, csv', 'export of everything', 'start until it sells'],
      ]),
    )
    for (const { what, few, many, ratio } of all)
      expect(
        [few, many, ratio].every((figure) => Number.isFinite(figure) && figure >= 0),
        what,
      ).toBe(true)
    expect(bars.length).toBeGreaterThan(20)
    expect(text).toContain('ledger of everything')
  },
  240_000,
)

test('a store that there is not is refused by name', async () => {
  await expect(measureStoredSales(root, ['mysql'], () => {})).rejects.toThrow('mysql is no store')
})
