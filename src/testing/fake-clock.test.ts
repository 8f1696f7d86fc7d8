import { expect, test } from 'vitest'
import { createFakeClock } from './fake-clock.ts'

test('time does not move until it is advanced', async () => {
  const clock = createFakeClock(1_000)
  expect(clock.now()).toBe(1_000)
  await clock.advance(250)
  expect(clock.now()).toBe(1_250)
})

test('sleepers wake in order, each at its own moment', async () => {
  const clock = createFakeClock(0)
  const woken: string[] = []
  const nap = async (name: string, ms: number) => {
    await clock.sleep(ms)
    woken.push(`${name}@${clock.now()}`)
  }
  void nap('late', 30)
  void nap('early', 10)
  void nap('never', 31)
  await clock.advance(30)
  expect(woken).toEqual(['early@10', 'late@30'])
})

test('a loop that sleeps again runs as often as fits into the advance', async () => {
  const clock = createFakeClock(0)
  const ticks: number[] = []
  const loop = async () => {
    for (;;) {
      await clock.sleep(100)
      ticks.push(clock.now())
    }
  }
  void loop()
  await clock.advance(350)
  expect(ticks).toEqual([100, 200, 300])
  expect(clock.now()).toBe(350)
})
