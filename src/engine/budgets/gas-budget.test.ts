import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt } from '../../../test/engine/test-rows.ts'
import { DAY_MS } from '../../protocol/duration.ts'
import type { Address } from '../../protocol/hex.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { holdGas, settleGas } from './gas-budget.ts'

const LIMITS = { perPayer: 300, inAll: 1000 }

function setUp(settlement: { gasWallet?: Address } = { gasWallet: '0x1' }) {
  const clock = createFakeClock(100 * DAY_MS)
  const rails = [testRail({ settlement })]
  const { core, rail, store, alerts } = testCore({ clock, rails, config: { lostGasPerDay: LIMITS } })
  async function risk(key: string, payer: Address, { alone = true, gas = 100 } = {}) {
    const row = testAttempt({ key, payer, walletTx: 'tx' })
    await store.commit({ puts: [{ table: 'authorizations', row }] })
    return { row: { ...row, version: 1 }, alone, gas }
  }
  /** Holds gas for these payments, and spends it. */
  async function lose(keys: string[], payer: Address) {
    const { held, over } = await holdGas(core, rail, await Promise.all(keys.map((key) => risk(key, payer))))
    const sent = held.filter(({ row }) => !over.has(row.key)).map(({ row }) => row)
    await settleGas(core, sent, 'spent')
    return sent.length
  }
  const alertTexts = () => alerts.map(({ kind, message }) => `${kind}: ${message}`)
  return { core, rail, store, alertTexts, risk, lose, pass: clock.advance }
}

test('concurrent payments of one smart wallet hold no more gas than its budget; those that land return it', async () => {
  const { core, rail, risk, alertTexts } = setUp()
  const { held, over } = await holdGas(
    core,
    rail,
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
  expect((await holdGas(core, rail, [await risk('f', '0xw')])).over.size).toBe(0)
  expect(alertTexts()).toEqual([])
})

test('a payer that has spent its budget is refused until tomorrow, and the operator gets one alert', async () => {
  const { core, rail, risk, lose, alertTexts, pass } = setUp()
  expect(await lose(['a', 'b', 'c'], '0xw')).toBe(3)
  for (const key of ['d', 'e']) {
    expect((await holdGas(core, rail, [await risk(key, '0xw')])).over.get(key)).toMatchObject({
      later: false,
      error: { code: 'RATE_LIMITED', details: { retryAfterSeconds: DAY_MS / 1000 } },
    })
  }
  expect(alertTexts()).toEqual([
    expect.stringMatching(/^gas-wasted: payments of 0xw lost 300 of the 300 gas/),
  ])
  await pass(DAY_MS)
  expect((await holdGas(core, rail, [await risk('f', '0xw')])).over.size).toBe(0)
})

test('beyond the budget of all payers smart wallets are refused, and plain accounts are served', async () => {
  const { core, rail, risk, lose, alertTexts } = setUp()
  for (const payer of ['0x1', '0x2', '0x3', '0x4'] as const)
    await lose([`${payer}a`, `${payer}b`, `${payer}c`], payer)
  const { over } = await holdGas(core, rail, [
    await risk('smart', '0xsmart'),
    await risk('plain', '0xplain', { alone: false }),
  ])
  expect([...over.keys()]).toEqual(['smart'])
  expect(over.get('smart')!.error.message).toMatch(/pay from an account without code/)
  expect(
    alertTexts().filter((alert) => alert.startsWith('gas-wasted: payments that failed lost 1000')),
  ).toHaveLength(1)
})

test('a plain account has a budget after one of its payments has failed', async () => {
  const { core, rail, risk, store } = setUp()
  const [first] = (await holdGas(core, rail, [await risk('a', '0xp', { alone: false })])).held
  expect(first!.row.gasHolds, 'nothing is held while all is well').toBeUndefined()
  const place = await core.payers.enter('0xp', 10, 0)
  if ('fail' in place) place.fail()
  await settleGas(core, [first!.row], 'spent')
  expect(await store.list('holds', 'gas:84532:0xp:100')).toMatchObject([{ spent: true, amount: 60_000 }])
  expect((await holdGas(core, rail, [await risk('b', '0xp', { alone: false })])).over.get('b')).toMatchObject(
    {
      later: false,
    },
  )
})

test('nothing is held if a facilitator pays the gas', async () => {
  const { core, rail, risk } = setUp({})
  const { held, over } = await holdGas(core, rail, [await risk('a', '0xw', { gas: 10_000 })])
  expect(held[0]!.row.gasHolds).toBeUndefined()
  expect(over.size).toBe(0)
})
