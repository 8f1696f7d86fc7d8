import { expect, test } from 'vitest'
import { createUnpaidLog } from './log-unpaid.ts'

test('the daily number of entries is limited, and starts again the next day', () => {
  let now = Date.UTC(2030, 0, 1, 23)
  const log = createUnpaidLog({ now: () => now }, 3)
  const take = (times: number) => Array.from({ length: times }, () => log.take())
  expect(take(5)).toEqual([true, true, true, false, false])
  now += 2 * 3_600_000
  expect(take(4)).toEqual([true, true, true, false])
})
