import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { MAINNET, testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt } from '../../../test/engine/test-rows.ts'
import type { Settlement } from '../../ports.ts'
import { DAY_MS } from '../../protocol/duration.ts'
import type { Address } from '../../protocol/hex.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { holdGas, settleGas } from './gas-budget.ts'

/** In micro-dollars. */
const LIMITS = { perPayer: 300_000, inAll: 1_000_000 }
/** At the nominal dollar of a test coin, a gas costs a tenth of a cent: 1000 micro-dollars. */
const gasPriceWei = async () => 1_000_000_000_000_000n

function setUp(settlement: Partial<Settlement> = { gasWallet: '0x1', gasPriceWei }) {
  const clock = createFakeClock(100 * DAY_MS)
  const rails = [testRail({ settlement }), testRail({ settlement, network: MAINNET })]
  const { core, rail, store, alerts } = testCore({ clock, rails, config: { lostGasPerDay: LIMITS } })
  async function risk(key: string, payer: Address, { alone = true, plain = false, gas = 100 } = {}) {
    const row = testAttempt({ key, payer, walletTx: 'tx' })
    await store.commit({ puts: [{ table: 'authorizations', row }] })
    return { row: { ...row, version: 1 }, alone, plain, gas }
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
    expect.stringMatching(
      /^gas-wasted: payments of 0xw lost \$0\.30 of the \$0\.30 of gas that may be lost a day on Base Sepolia/,
    ),
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
    await risk('metered', '0xmetered', { plain: true }),
  ])
  expect([...over.keys()]).toEqual(['smart'])
  expect(over.get('smart')!.error.message).toMatch(/pay from an account without code/)
  expect(
    alertTexts().filter((alert) => alert.startsWith('gas-wasted: payments that failed lost $1.00')),
  ).toHaveLength(1)
})

test('a plain account has a budget after one of its payments has failed', async () => {
  const { core, rail, risk, store } = setUp()
  const [first] = (await holdGas(core, rail, [await risk('a', '0xp', { alone: false })])).held
  expect(first!.row.gasHolds, 'nothing is held while all is well').toBeUndefined()
  const place = await core.payers.enter('0xp', 84532, 10, 0)
  if ('fail' in place) place.fail()
  await settleGas(core, [first!.row], 'spent')
  expect(await store.list('holds', 'lost-gas:84532:0xp:100')).toMatchObject([
    { spent: true, amount: 60_000_000 },
  ])
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

test('each chain has budgets of its own', async () => {
  const { core, risk, lose } = setUp()
  expect(await lose(['a', 'b', 'c'], '0xw')).toBe(3)
  const other = core.rails.all[1]!
  const { over } = await holdGas(core, other, [await risk('d', '0xw')])
  expect(over.size).toBe(0)
})

test('while the gas price is not known, the most that we pay is held', async () => {
  const { core, rail, store, risk } = setUp({
    gasWallet: '0x1',
    gasPriceWei: () => Promise.reject(new Error('down')),
  })
  await holdGas(core, rail, [await risk('a', '0xw')])
  expect(await store.list('holds', 'lost-gas:84532:0xw:100'), 'cheap as it is').toMatchObject([
    { amount: 20 },
  ])
  const dear = core.rails.all[1]!
  await holdGas(core, dear, [await risk('b', '0xw')])
  const most = Math.ceil((100 * dear.network.fees.maxGwei * dear.network.native.usd) / 1000)
  expect(most).toBeGreaterThan(20)
  expect(await store.list('holds', 'lost-gas:8453:0xw:100')).toMatchObject([{ amount: most }])
})

test('a payment whose gas costs more than the budget is taken alone, and none after it was lost', async () => {
  const { core, rail, risk } = setUp()
  const large = { gas: 1_500 }
  const both = await Promise.all([risk('a', '0xw', large), risk('b', '0xw', large)])
  const { held, over } = await holdGas(core, rail, both)
  expect([...over.values()].map(({ later }) => later)).toEqual([true])
  const sent = held.filter(({ row }) => !over.has(row.key)).map(({ row }) => row)
  await settleGas(
    core,
    held.filter(({ row }) => over.has(row.key)).map(({ row }) => row),
    'returned',
  )
  await settleGas(core, sent, 'spent')
  expect((await holdGas(core, rail, [await risk('c', '0xw', large)])).over.get('c')).toMatchObject({
    later: false,
  })
})
