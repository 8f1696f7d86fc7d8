import { expect, test } from 'vitest'
import { createRpcPace, readRetryAfter, saysTooFast } from './rpc-pace.ts'

function setUp() {
  let nowMs = 1_000_000
  const pace = createRpcPace(() => nowMs)
  const wait = (ms: number) => {
    nowMs += ms
  }
  return { pace, wait }
}

test('nothing is held back before the first refusal', () => {
  const { pace } = setUp()
  expect(pace.admit(500)).toBe(500)
  expect(pace.isLimited()).toBe(false)
})

test('after a refusal nothing is sent for a moment, then fewer calls per second than were accepted before', () => {
  const { pace, wait } = setUp()
  pace.accepted(10)
  pace.refused(18)
  expect(pace.admit(18)).toBe(0)
  wait(pace.waitMs())
  let sent = 0
  for (let step = 0; step < 100; step++) {
    wait(10)
    sent += pace.admit(18)
  }
  expect(sent).toBeGreaterThanOrEqual(5)
  expect(sent).toBeLessThanOrEqual(10)
})

test('Retry-After is respected', () => {
  const { pace, wait } = setUp()
  pace.refused(1, 7_000)
  wait(6_999)
  expect(pace.admit(1)).toBe(0)
  wait(1_001)
  expect(pace.admit(1)).toBe(1)
})

test('refusals in a row make longer and longer pauses, up to five seconds; those of one moment count once', () => {
  const { pace, wait } = setUp()
  const pauses = Array.from({ length: 7 }, () => {
    pace.refused(1)
    pace.refused(1)
    let pauseMs = 0
    for (; pace.admit(1) === 0; pauseMs += 50) wait(50)
    return pauseMs
  })
  expect(pauses[0]).toBeLessThanOrEqual(1_500)
  expect(pauses.at(-1)).toBeGreaterThanOrEqual(5_000)
  expect(pauses.at(-1)).toBeLessThanOrEqual(6_000)
})

test('a minute after the last refusal there is no limit any more', () => {
  const { pace, wait } = setUp()
  for (let round = 0; round < 9; round++) {
    pace.refused(1)
    wait(6_000)
  }
  expect(pace.isLimited()).toBe(true)
  wait(60_000)
  expect(pace.isLimited()).toBe(false)
  expect(pace.admit(50)).toBe(50)
})

test.each([
  [true, -32005, 'daily request count exceeded, request rate limited'],
  [true, -32016, 'over rate limit'],
  [true, 429, 'Your app has exceeded its compute units per second capacity'],
  [true, -32000, 'Too Many Requests'],
  [false, -32005, 'query returned more than 10000 results'],
  [false, -32614, 'eth_getLogs is limited to a 10,000 range'],
  [false, -32000, 'execution reverted: rate limit'],
  [false, -32000, 'nonce too low'],
  [false, -32600, 'batch size too large'],
])('"too fast" (%s): %i %s', (expected, code, message) => {
  expect(saysTooFast({ code, message })).toBe(expected)
})

test('Retry-After is read as seconds and as a date', () => {
  expect(readRetryAfter('2', 0)).toBe(2_000)
  expect(readRetryAfter('Thu, 01 Jan 1970 00:00:09 GMT', 4_000)).toBe(5_000)
  expect(readRetryAfter('soon', 0)).toBeUndefined()
  expect(readRetryAfter(undefined, 0)).toBeUndefined()
})
