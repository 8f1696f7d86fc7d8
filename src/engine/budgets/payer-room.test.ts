import { expect, test } from 'vitest'
import { GatewayError } from '../../errors.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createPayerRoom, type PayerRoom, type Place } from './payer-room.ts'

const PAYER = `0x${'aa'.repeat(20)}` as const
const CHAIN = 8453
const FAR = Number.MAX_SAFE_INTEGER

async function enter(room: PayerRoom, most = 100): Promise<Place> {
  const place = await room.enter(PAYER, CHAIN, most, FAR)
  if (place instanceof GatewayError) throw place
  return place
}

test('concurrent payments never have more places than may fail, and the others get places as they become free', async () => {
  const room = createPayerRoom(createFakeClock(), 3)
  const inside: Place[] = []
  let most = 0
  const all = Array.from({ length: 10 }, async () => {
    inside.push(await enter(room))
    most = Math.max(most, inside.length)
  })
  for (let turn = 0; turn < 10; turn++) {
    await new Promise(setImmediate)
    inside.shift()?.leave()
  }
  await Promise.all(all)
  expect(most).toBe(3)
})

test('a payment that failed keeps its place for a minute; if all places have failed, further payments are refused at once', async () => {
  const clock = createFakeClock()
  const room = createPayerRoom(clock, 2)
  for (let turn = 0; turn < 2; turn++) {
    const place = await enter(room)
    place.fail()
    place.leave()
  }
  expect(room.hasFailed(PAYER)).toBe(true)
  expect(await room.enter(PAYER, CHAIN, 100, FAR)).toMatchObject({
    code: 'RATE_LIMITED',
    details: { retryAfterSeconds: 60 },
  })
  await clock.advance(60_000)
  expect(room.refusal(PAYER)).toBeUndefined()
  ;(await enter(room)).leave()
})

test('a payment that waits past its deadline is refused without a charge', async () => {
  const clock = createFakeClock()
  const room = createPayerRoom(clock, 0)
  const place = await enter(room, 1)
  const waiting = room.enter(PAYER, CHAIN, 1, clock.now() + 1000)
  for (let turn = 0; turn < 5; turn++) await clock.advance(250)
  expect(await waiting).toMatchObject({
    code: 'RATE_LIMITED',
    message: expect.stringContaining('Nothing was charged'),
  })
  place.leave()
  place.leave()
  expect(await room.enter(PAYER, CHAIN, 1, 0), 'leaving twice frees one place').not.toBeInstanceOf(
    GatewayError,
  )
  expect(await room.enter(PAYER, CHAIN, 1, 0)).toBeInstanceOf(GatewayError)
})

test('what one chain allows a payer does not slow it down on another', async () => {
  const clock = createFakeClock()
  const room = createPayerRoom(clock, 0)
  room.limit(PAYER, CHAIN, 1)
  await enter(room)
  expect(await room.enter(PAYER, CHAIN, 100, clock.now())).toBeInstanceOf(GatewayError)
  expect(await room.enter(PAYER, 1, 100, clock.now())).not.toBeInstanceOf(GatewayError)
})
