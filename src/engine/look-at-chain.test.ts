import { expect, test } from 'vitest'
import type { Block, SignedAuthorization, SimResult } from '../ports.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createChainHead } from './chain-head.ts'
import type { Core } from './core.ts'
import { lookAtChain, refuseDoubtful } from './look-at-chain.ts'

const OK: SimResult = { kind: 'ok', alone: false }
const USED: SimResult = { kind: 'used' }
const auth = { from: '0x1', nonce: '0x2' } as unknown as SignedAuthorization
const block = (number: number): Block => ({ number, hash: '0x7', timestamp: number })

/** A node behind a balancer: each look finds one machine for the head and one for the simulation. */
function setUp(looks: Array<{ latest: number; at: number; result?: SimResult }>, highest = 0) {
  const clock = createFakeClock()
  const waits: number[] = []
  const alerts: string[] = []
  let asked = 0
  const raise = (kind: string) => alerts.push(kind)
  const head = createChainHead({ clock, alerts: { raise } })
  if (highest > 0) head.weigh(block(highest), block(highest))
  const core = {
    alerts: { raise },
    head,
    clock: {
      ...clock,
      async sleep(ms: number) {
        waits.push(ms)
      },
    },
    config: { pollIntervalMs: 10 },
    settlement: {},
    chain: {
      head: async () => ({ latest: block(looks[asked]!.latest), finalized: block(90) }),
      async simulate() {
        const { at, result = OK } = looks[asked++]!
        return { at: block(at), results: [result] }
      },
    },
  } as unknown as Core
  return { core, waits, alerts, asked: () => asked }
}

test('an answer from a block below the head of the same look is not believed', async () => {
  const { core, waits } = setUp([
    { latest: 112, at: 100 },
    { latest: 112, at: 112, result: USED },
  ])
  const look = await lookAtChain(core, [auth])
  expect(look).toMatchObject({ at: { number: 112 }, results: [USED], finalizedHeight: 90 })
  expect(waits).toEqual([])
})

test('nor is one below what this instance saw before', async () => {
  const { core, asked } = setUp(
    [
      { latest: 100, at: 100 },
      { latest: 120, at: 121 },
    ],
    120,
  )
  expect((await lookAtChain(core, [auth])).at.number).toBe(121)
  expect(asked()).toBe(2)
})

test('a node that stays behind decides nothing, and is not asked without pauses', async () => {
  const { core, waits, alerts } = setUp(Array.from({ length: 9 }, () => ({ latest: 112, at: 100 })))
  await expect(lookAtChain(core, [auth])).rejects.toThrow('an RPC node that has block 112 is unavailable')
  expect(waits).toEqual([10, 10, 10])
  expect(alerts, 'the operator is told').toEqual(['chain-inconsistent'])
})

test('a block far in the future that the node names once is left out of the next look, and told', async () => {
  const { core, waits, alerts } = setUp([
    { latest: 100, at: 100 },
    { latest: 0x7fff_ffff, at: 101 },
    { latest: 101, at: 101 },
    { latest: 102, at: 102 },
  ])
  await lookAtChain(core, [auth])
  expect((await lookAtChain(core, [auth])).at.number).toBe(101)
  expect((await lookAtChain(core, [auth])).at.number).toBe(102)
  expect(waits).toEqual([])
  expect(alerts).toEqual(['chain-inconsistent'])
})

test('an answer of a block that does not fit decides nothing, unless whole looks show it as well', async () => {
  const far = 0x7fff_ffff
  const once = setUp([
    { latest: 100, at: 100 },
    { latest: 100, at: 100 },
  ])
  await lookAtChain(once.core, [auth])
  await expect(refuseDoubtful(once.core, block(far))).rejects.toThrow('blocks fit together')
  const moved = setUp([
    { latest: 100, at: 100 },
    ...Array.from({ length: 3 }, () => ({ latest: far, at: far })),
  ])
  await lookAtChain(moved.core, [auth])
  await refuseDoubtful(moved.core, block(far))
  expect(moved.core.head.number).toBe(far)
})
