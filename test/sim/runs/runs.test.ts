import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { STORMS } from '../storms.ts'
import { playSeeds } from './play-seeds.ts'
import { openProgress } from './progress.ts'
import { skyOf } from './skies.ts'
import { addTally, emptyTally } from './tally.ts'

const plan = { from: 1, to: 6, skies: 'all', partSize: 3, build: 'b1' } as const
const { stackTraceLimit } = Error
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-sim-'))
})
afterEach(() => {
  Error.stackTraceLimit = stackTraceLimit
  rmSync(folder, { recursive: true, force: true })
})

test('of all skies half are drawn, and every storm has its turn', () => {
  const storms = Array.from({ length: 2 * STORMS.length }, (_, seed) => skyOf(seed, 'all').storm)
  expect(storms.filter((storm) => storm === undefined)).toHaveLength(STORMS.length)
  expect(new Set(storms.filter((storm) => storm !== undefined)).size).toBe(STORMS.length)
})

test('the parts of a run come to the same as the whole', async () => {
  const whole = await playSeeds({ from: 1, to: 6, skies: 'all' })
  const sum = emptyTally()
  for (const from of [1, 4]) addTally(sum, await playSeeds({ from, to: from + 2, skies: 'all' }))
  expect({ ...sum, cpuSeconds: 0 }).toEqual({ ...whole, cpuSeconds: 0 })
  expect(sum.histories).toBe(6)
  expect(sum.failures).toEqual([])
})

test('a run that was cut off while it wrote a part plays that part again', () => {
  const file = join(folder, 'run.jsonl')
  const first = openProgress(file)
  first.begin(plan)
  first.add({ from: 1, tally: { ...emptyTally(), histories: 3 } })
  appendFileSync(file, '{"from":4,"tally":{"histor')
  const again = openProgress(file)
  expect(again.plan).toEqual(plan)
  expect(again.done.map(({ from }) => from)).toEqual([1])
  again.add({ from: 4, tally: { ...emptyTally(), histories: 3 } })
  expect(openProgress(file).done.map(({ from }) => from)).toEqual([1, 4])
})
