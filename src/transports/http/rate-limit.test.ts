import { expect, test } from 'vitest'
import { createRateLimit } from './rate-limit.ts'

const minute = 60_000
const start = 1_000 * minute

test('an address may send its share, and no more, within any minute', () => {
  const limit = createRateLimit({ perMinute: 3 })
  const verdicts = [1, 2, 3, 4].map(() => limit('1.1.1.1', start).ok)
  expect(verdicts).toEqual([true, true, true, false])
  expect(limit('2.2.2.2', start).ok).toBe(true)
  // A fixed window would let all three through again one moment after its edge.
  expect(limit('1.1.1.1', start + minute + 1).ok).toBe(false)
  expect(limit('1.1.1.1', start + 2 * minute).ok).toBe(true)
})

test('the wait that it names is enough, and a second less is not', () => {
  for (const [used, at] of [
    [10, 0],
    [10, 20_000],
    [10, 59_000],
  ] as const) {
    const limit = createRateLimit({ perMinute: 10 })
    for (let request = 0; request < used; request++) expect(limit('a', start + at).ok).toBe(true)
    const verdict = limit('a', start + at)
    if (verdict.ok) throw new Error('expected a refusal')
    const waitMs = verdict.retryAfterSeconds * 1000
    expect(limit('a', start + at + waitMs - 1000).ok).toBe(false)
    expect(limit('a', start + at + waitMs).ok).toBe(true)
  }
})

test('all addresses of one IPv6 /64 share one count', () => {
  const limit = createRateLimit({ perMinute: 1 })
  expect(limit('2001:db8:0:1::1', start).ok).toBe(true)
  expect(limit('2001:DB8:0000:1:ffff::2', start).ok).toBe(false)
  expect(limit('2001:db8:0:2::1', start).ok).toBe(true)
  expect(limit('::1', start).ok).toBe(true)
  expect(limit('fe80::1%eth0', start).ok).toBe(true)
})

test('a million addresses leave memory bounded, and the limit still holds for the newest', () => {
  const limit = createRateLimit({ perMinute: 1, maxAddresses: 10 })
  for (let n = 0; n < 1000; n++) limit(`10.0.${n >> 8}.${n & 255}`, start)
  expect(limit('10.0.3.231', start).ok).toBe(false)
  expect(limit('10.0.0.0', start).ok).toBe(true)
})

test('a clock that steps back clears no count, and 0 switches the limit off', () => {
  const limit = createRateLimit({ perMinute: 1 })
  limit('a', start)
  expect(limit('a', start - 5 * minute).ok).toBe(false)
  const off = createRateLimit({ perMinute: 0 })
  expect([off('a', start), off('a', start)]).toEqual([{ ok: true }, { ok: true }])
})
