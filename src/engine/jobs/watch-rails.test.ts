import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { testPorts } from '../../../test/engine/test-core.ts'
import { MAINNET, TESTNET, testRail } from '../../../test/engine/test-rail.ts'
import type { Settlement } from '../../ports.ts'
import type { Network } from '../../protocol/network.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createEngine } from '../engine.ts'

const BLOCK = { number: 1, hash: '0x1', timestamp: 1 } as const
const HEAD = { latest: BLOCK, finalized: BLOCK }

/** What one chain of a test does; tests change it while the engine runs. */
interface Mood {
  reads: 'answers' | 'fails' | 'hangs'
  unavailable?: string | undefined
  gasPriceWei?: bigint
  looks: number
  isSilent?: boolean
}

function moodyRail(mood: Mood, network: Network) {
  const settlement: Partial<Settlement> = {
    unavailable: async () => mood.unavailable,
    gasPriceWei: async () => mood.gasPriceWei ?? Promise.reject(new Error('not known')),
  }
  const head = () => {
    mood.looks++
    if (mood.reads === 'hangs') return new Promise<never>(() => {})
    return mood.reads === 'answers' ? Promise.resolve(HEAD) : Promise.reject(new Error('down'))
  }
  return testRail({ network, settlement, chain: { head }, ...(mood.isSilent && { isSilent: true }) })
}

async function start(moods: Mood[]) {
  const clock = createFakeClock()
  const networks = [TESTNET, MAINNET]
  const rails = moods.map((mood, index) => moodyRail(mood, networks[index]!))
  const { ports, config, alerts } = testPorts({ clock, rails, config: { maxGasShare: 0.5 } })
  const engine = createEngine(ports, config)
  let started = false
  const starting = engine.start().then(() => {
    started = true
  })
  await nextTurn()
  const withdrawn = () => engine.rails().map((rail) => rail.withdrawn?.reason)
  return { clock, engine, alerts, withdrawn, isStarted: () => started, starting }
}

const well = (): Mood => ({ reads: 'answers', looks: 0 })

test('a rail is withdrawn when its chain is gone or its wallet is empty, and comes back by itself', async () => {
  const [first, second] = [well(), well()]
  const { clock, engine, withdrawn, starting, alerts } = await start([first, second])
  await starting
  expect(withdrawn()).toEqual([undefined, undefined])
  second.reads = 'fails'
  await clock.advance(8_000)
  expect(withdrawn()).toEqual([undefined, 'the chain cannot be reached'])
  second.reads = 'answers'
  await clock.advance(4_000)
  expect(withdrawn()).toEqual([undefined, undefined])
  first.unavailable = 'the gas wallet is empty'
  await clock.advance(8_000)
  expect(withdrawn()).toEqual(['the gas wallet is empty', undefined])
  expect(alerts.map(({ kind }) => kind)).toEqual(['rail-withdrawn', 'rail-returned', 'rail-withdrawn'])
  await engine.stop()
})

test('a chain that said nothing when the gateway was built does not delay its start once more', async () => {
  const { engine, withdrawn, isStarted } = await start([
    well(),
    { ...well(), reads: 'hangs', isSilent: true },
  ])
  await nextTurn()
  expect(isStarted()).toBe(true)
  expect(withdrawn()).toEqual([undefined, 'the chain does not answer'])
  await engine.stop()
})

test('a chain that hangs is withdrawn, delays no other, and is found again when it answers', async () => {
  const [first, second] = [well(), well()]
  const { clock, engine, withdrawn } = await start([first, second])
  first.reads = 'hangs'
  const before = second.looks
  await clock.advance(12_000)
  expect(withdrawn()).toEqual(['the chain does not answer', undefined])
  expect(second.looks - before).toBe(3)
  first.reads = 'answers'
  await clock.advance(4_000)
  expect(withdrawn()).toEqual([undefined, undefined])
  await engine.stop()
})

test('the start waits for the first looks, but not for a chain that hangs', async () => {
  const { clock, engine, withdrawn, isStarted, starting } = await start([
    well(),
    { ...well(), reads: 'hangs' },
  ])
  expect(isStarted()).toBe(false)
  await clock.advance(2_000)
  await starting
  expect(withdrawn()).toEqual([undefined, 'the chain does not answer'])
  await engine.stop()
})

test('the gas price of a further rail is known from the start; one that cannot be read changes nothing', async () => {
  const second = { ...well(), gasPriceWei: 1_000_000_000n }
  const { clock, engine, starting } = await start([{ ...well(), gasPriceWei: 5n }, second])
  await starting
  const least = () => engine.rails().map(({ leastAmount }) => Number(leastAmount))
  const [ofFirst, ofSecond] = least()
  expect(ofFirst).toBe(0)
  expect(ofSecond).toBeGreaterThan(0)
  delete (second as Partial<typeof second>).gasPriceWei
  await clock.advance(4_000)
  expect(least()).toEqual([0, ofSecond])
  await engine.stop()
})

test('a single rail is not watched', async () => {
  const only = well()
  const { clock, engine, starting } = await start([only])
  await starting
  await clock.advance(60_000)
  expect(only.looks).toBe(0)
  await engine.stop()
})

test('nothing is looked at after the stop', async () => {
  const [first, second] = [well(), well()]
  const { clock, engine, starting } = await start([first, second])
  await starting
  await engine.stop()
  const before = first.looks
  await clock.advance(60_000)
  expect(first.looks).toBe(before)
})
