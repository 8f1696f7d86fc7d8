import { expect, test } from 'vitest'
import type { AuthorizationRow } from '../ports.ts'
import { createMemoryStore } from '../stores/memory.ts'
import type { Core } from './core.ts'
import { holdGas, settleGas } from './gas-budget.ts'
import { DAY_MS } from './holds.ts'
import { createPayerRoom } from './payer-room.ts'

const LIMITS = { perPayer: 300, inAll: 1000 }

function setUp() {
  const store = createMemoryStore()
  const alerts: string[] = []
  let nowMs = 100 * DAY_MS
  let drawn = 0
  const clock = { now: () => nowMs, sleep: async () => {} }
  const core = {
    store,
    clock,
    random: { bytes: (length: number) => new Uint8Array(length).fill(++drawn) },
    alerts: { raise: (kind: string, message: string) => void alerts.push(`${kind}: ${message}`) },
    told: new Set(),
    payers: createPayerRoom(clock, 30),
    signals: { notify: () => {} },
    settlement: { gasWallet: '0x1' },
    config: { lostGasPerDay: LIMITS },
  } as unknown as Core
  async function risk(key: string, payer: string, { alone = true, gas = 100 } = {}) {
    const row = {
      ...{ key, version: 0, ref: null, dueAt: null, challengeId: `of ${key}` },
      ...{ phase: 'CLAIMED', auth: { from: payer }, walletTx: 'tx' },
    } as unknown as AuthorizationRow
    await store.commit({ puts: [{ table: 'authorizations', row }] })
    return { row: { ...row, version: 1 }, alone, gas }
  }
  /** Takes gas for these, and loses it. */
  async function lose(keys: string[], payer: string) {
    const { held, over } = await holdGas(core, await Promise.all(keys.map((key) => risk(key, payer))))
    const sent = held.filter(({ row }) => !over.has(row.key)).map(({ row }) => row)
    await settleGas(core, sent, 'spent')
    return sent.length
  }
  return { core, store, alerts, risk, lose, pass: (ms: number) => (nowMs += ms) }
}

test('payments at once of one smart wallet hold no more gas than its budget; what lands gives it back', async () => {
  const { core, risk, alerts } = setUp()
  const { held, over } = await holdGas(
    core,
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((key) => risk(key, '0xw'))),
  )
  expect([...over.values()].map(({ later }) => later)).toEqual([true, true])
  const landed = held.filter(({ row }) => !over.has(row.key)).map(({ row }) => row)
  expect(landed).toHaveLength(3)
  await settleGas(
    core,
    held.map(({ row }) => row),
    'returned',
  )
  expect((await holdGas(core, [await risk('f', '0xw')])).over.size).toBe(0)
  expect(alerts).toEqual([])
})

test('a payer that lost its budget is refused until tomorrow, and the operator is told once', async () => {
  const { core, risk, lose, alerts, pass } = setUp()
  expect(await lose(['a', 'b', 'c'], '0xw')).toBe(3)
  for (const key of ['d', 'e']) {
    expect((await holdGas(core, [await risk(key, '0xw')])).over.get(key)).toMatchObject({
      later: false,
      error: { code: 'RATE_LIMITED', details: { retryAfterSeconds: DAY_MS / 1000 } },
    })
  }
  expect(alerts).toEqual([expect.stringMatching(/^gas-wasted: payments of 0xw lost 300 of the 300 gas/)])
  pass(DAY_MS)
  expect((await holdGas(core, [await risk('f', '0xw')])).over.size).toBe(0)
})

test('beyond the budget of all payers smart wallets are refused, and plain accounts served', async () => {
  const { core, risk, lose, alerts } = setUp()
  for (const payer of ['0x1', '0x2', '0x3', '0x4']) await lose([`${payer}a`, `${payer}b`, `${payer}c`], payer)
  const { over } = await holdGas(core, [
    await risk('smart', '0xsmart'),
    await risk('plain', '0xplain', { alone: false }),
  ])
  expect([...over.keys()]).toEqual(['smart'])
  expect(over.get('smart')!.error.message).toMatch(/pay from an account without code/)
  expect(
    alerts.filter((alert) => alert.startsWith('gas-wasted: payments that failed lost 1000')),
  ).toHaveLength(1)
})

test('a plain account is held to its budget once a payment of it has failed', async () => {
  const { core, risk, store } = setUp()
  const [first] = (await holdGas(core, [await risk('a', '0xp', { alone: false })])).held
  expect(first!.row.gasHolds, 'nothing is held while all is well').toBeUndefined()
  const place = await core.payers.enter('0xp', 10, 0)
  if ('fail' in place) place.fail()
  await settleGas(core, [first!.row], 'spent')
  expect(await store.list('holds', 'gas:0xp:100')).toMatchObject([{ spent: true, amount: 60_000 }])
  expect((await holdGas(core, [await risk('b', '0xp', { alone: false })])).over.get('b')).toMatchObject({
    later: false,
  })
})

test('where a facilitator pays the gas nothing is held', async () => {
  const { core, risk } = setUp()
  const free = { ...core, settlement: {} } as Core
  const { held, over } = await holdGas(free, [await risk('a', '0xw', { gas: 10_000 })])
  expect(held[0]!.row.gasHolds).toBeUndefined()
  expect(over.size).toBe(0)
})
