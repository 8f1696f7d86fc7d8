import { expect, test } from 'vitest'
import { readTime } from './read-time.ts'

test.each([
  ['2026-02-01', '2026-02-01T00:00:00.000Z'],
  ['2026-02-01T10:30Z', '2026-02-01T10:30:00.000Z'],
  ['2026-02-01T10:30:15+02:00', '2026-02-01T08:30:15.000Z'],
  ['2026-02-01T00:00:00.250Z', '2026-02-01T00:00:00.250Z'],
  ['2028-02-29', '2028-02-29T00:00:00.000Z'],
])('%s is %s, wherever it is read', (text, iso) => {
  expect(new Date(readTime(text)!).toISOString()).toBe(iso)
})

test.each([
  '01.02.2026',
  '2026-02-01T00:00',
  '2026-2-1',
  'may',
  '2026',
  '2026-02-30',
  '2026-02-01T25:00Z',
  '',
])('%j is no time: it would be read in some time zone, or as some other day', (text) => {
  expect(readTime(text)).toBeUndefined()
})
