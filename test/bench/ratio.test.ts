import { expect, test } from 'vitest'
import { type Cell, medianCell } from '../../bench/cells.ts'
import { ratioOf } from '../../bench/ratio.ts'

const cell = (perSecond: number): Cell => ({
  ...{ perSecond, ok: 1, failed: 0, reasons: {}, p50Ms: 1, p99Ms: 1, maxMs: perSecond },
  ...{ cpuMsEach: 1, rssMiB: 1 },
})
const measured = (...rates: number[]) => medianCell(rates.map(cell))

test('cells of the same turns are compared turn by turn', () => {
  // The machine was twice as fast in the last turn.
  expect(ratioOf(measured(30, 33, 60), measured(10, 11, 20))).toBe(3)
  expect(ratioOf(measured(100, 90, 120), measured(94, 75, 106))).toBeCloseTo(120 / 106)
})

test('cells of different turns are compared by their rates', () => {
  expect(ratioOf(cell(30), measured(10, 11, 20))).toBe(30 / 11)
  expect(ratioOf(cell(30), cell(15))).toBe(2)
})
