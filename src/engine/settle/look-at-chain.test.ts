import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { TESTNET, testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt } from '../../../test/engine/test-rows.ts'
import type { Block, SimResult } from '../../ports.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { lookAtChain, pollMsOn, refuseDoubtful } from './look-at-chain.ts'

const OK: SimResult = { kind: 'ok', alone: false }
const USED: SimResult = { kind: 'used' }
const { auth } = testAttempt({ key: 'a' })
const block = (number: number): Block => ({ number, hash: '0x7', timestamp: number })

/** An RPC behind a load balancer: each look asks one machine for the head and another for the simulation. */
function setUp(looks: Array<{ latest: number; at: number; result?: SimResult }>, highest = 0) {
  const waits: number[] = []
  let asked = 0
  const { core, rail, alerts } = testCore({
    clock: { ...createFakeClock(), sleep: async (ms) => void waits.push(ms) },
    rails: [
      testRail({
        chain: { head: async () => ({ latest: block(looks[asked]!.latest), finalized: block(90) }) },
        scheme: {
          async simulate() {
            const { at, result = OK } = looks[asked++]!
            return { at: block(at), results: [result] }
          },
        },
      }),
    ],
  })
  if (highest > 0) rail.head.weigh(block(highest), block(highest))
  return { core, rail, waits, alertKinds: () => alerts.map(({ kind }) => kind), asked: () => asked }
}

test('an answer from a block below the head of the same look is not believed', async () => {
  const { core, rail, waits } = setUp([
    { latest: 112, at: 100 },
    { latest: 112, at: 112, result: USED },
  ])
  const look = await lookAtChain(core, rail, [auth])
  expect(look).toMatchObject({ at: { number: 112 }, results: [USED], finalizedHeight: 90 })
  expect(waits).toEqual([])
})

test('an answer from a block below one that was seen before is not believed', async () => {
  const { core, rail, asked } = setUp(
    [
      { latest: 100, at: 100 },
      { latest: 120, at: 121 },
    ],
    120,
  )
  expect((await lookAtChain(core, rail, [auth])).at.number).toBe(121)
  expect(asked()).toBe(2)
})

test('a node that stays behind decides nothing, and is asked again only after pauses', async () => {
  const { core, rail, waits, alertKinds } = setUp(Array.from({ length: 9 }, () => ({ latest: 112, at: 100 })))
  await expect(lookAtChain(core, rail, [auth])).rejects.toThrow(
    'an RPC node that has block 112 is unavailable',
  )
  expect(waits).toEqual([10, 10, 10])
  expect(alertKinds()).toEqual(['chain-inconsistent'])
})

test('a block far in the future that the node names once is ignored by the next look, and alerted', async () => {
  const { core, rail, waits, alertKinds } = setUp([
    { latest: 100, at: 100 },
    { latest: 0x7fff_ffff, at: 101 },
    { latest: 101, at: 101 },
    { latest: 102, at: 102 },
  ])
  await lookAtChain(core, rail, [auth])
  expect((await lookAtChain(core, rail, [auth])).at.number).toBe(101)
  expect((await lookAtChain(core, rail, [auth])).at.number).toBe(102)
  expect(waits).toEqual([])
  expect(alertKinds()).toEqual(['chain-inconsistent'])
})

test('an answer from a block that does not fit decides nothing, unless whole looks show that block too', async () => {
  const far = 0x7fff_ffff
  const once = setUp([
    { latest: 100, at: 100 },
    { latest: 100, at: 100 },
  ])
  await lookAtChain(once.core, once.rail, [auth])
  await expect(refuseDoubtful(once.core, once.rail, block(far))).rejects.toThrow('blocks fit together')
  const jumped = setUp([
    { latest: 100, at: 100 },
    ...Array.from({ length: 3 }, () => ({ latest: far, at: far })),
  ])
  await lookAtChain(jumped.core, jumped.rail, [auth])
  await refuseDoubtful(jumped.core, jumped.rail, block(far))
  expect(jumped.rail.head.number).toBe(far)
})

test('a chain with slow blocks is asked at most four times per block; one with quick blocks as configured', () => {
  const { core } = testCore({ config: { pollIntervalMs: 1000 } })
  const every = (blockMs: number) => pollMsOn(core, { network: { ...TESTNET, blockMs } })
  expect([250, 2_000, 12_000].map(every)).toEqual([1000, 1000, 3000])
})

test('payments are simulated as if the wallet that can pay for gas sent them', async () => {
  const senders: unknown[] = []
  const { core, rail } = testCore({
    rails: [
      testRail({
        chain: { head: async () => ({ latest: block(7), finalized: block(7) }) },
        scheme: {
          async simulate(payments, sender) {
            senders.push(sender)
            return { at: block(7), results: payments.map(() => OK) }
          },
        },
        settlement: { gasWallet: '0x1', fundedWallet: () => '0x2' },
      }),
    ],
  })
  await lookAtChain(core, rail, [auth])
  expect(senders).toEqual(['0x2'])
})
