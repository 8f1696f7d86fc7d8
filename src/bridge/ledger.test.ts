import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { meteredReservation } from '../buyer/reservations.ts'
import { openLedger } from './ledger.ts'

let folder: string
let nowMs: number
const file = () => join(folder, 'ledger.jsonl')
const open = () => openLedger(file(), () => nowMs)
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-ledger-'))
  nowMs = Date.parse('2026-11-17T12:00:00Z')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const payment = (id: string, amountMicro = 10n) => ({
  id,
  amountMicro,
  payer: '0x1',
  host: 'a.example',
  for: 'GET /',
})

test('many at once, on ledgers of several processes, are granted exactly up to the limit', async () => {
  const ledgers = [open(), open(), open()]
  const granted = await Promise.all(
    Array.from({ length: 30 }, (_, number) => ledgers[number % 3]!.reserve(payment(String(number)), 70n)),
  )
  expect(granted.filter(Boolean)).toHaveLength(7)
  expect(await open().spentTodayMicro()).toBe(70n)
})

test('a new day has a new budget, but for what was signed so late that it may land on it', async () => {
  expect(await open().reserve(payment('noon'), 20n)).toBe(true)
  nowMs = Date.parse('2026-11-17T23:58:00Z')
  expect(await open().reserve(payment('late'), 20n)).toBe(true)
  expect(await open().reserve(payment('too much'), 20n)).toBe(false)
  nowMs = Date.parse('2026-11-18T00:00:01Z')
  expect(await open().spentTodayMicro()).toBe(10n)
  expect(await open().reserve(payment('again', 11n), 20n)).toBe(false)
  expect(await open().reserve(payment('fits'), 20n)).toBe(true)
})

test('what was proved unused no longer counts; what was paid does', async () => {
  const ledger = open()
  await ledger.reserve(payment('one'), 100n)
  await ledger.reserve(payment('two'), 100n)
  await ledger.paid('one', { network: 'eip155:8453', transaction: '0xabc' })
  await ledger.unused('two')
  expect(await open().spentTodayMicro()).toBe(10n)
  expect(await open().entries()).toMatchObject([
    { id: 'one', state: 'paid', transaction: '0xabc' },
    { id: 'two', state: 'unused' },
  ])
})

test('a metered call counts by its maximum until its charge is known, and for as long as it may be charged', async () => {
  const untilMs = Date.parse('2026-11-18T00:40:00Z')
  const metered = (nonce: bigint) =>
    meteredReservation({
      ...{ network: 'eip155:8453', from: `0x${'1'.repeat(40)}`, nonce },
      validBefore: String(untilMs / 1000),
    })
  nowMs = Date.parse('2026-11-17T23:40:00Z')
  const ledger = open()
  await ledger.reserve(payment(metered(1n), 50n), 100n)
  await ledger.reserve(payment(metered(2n), 50n), 100n)
  await ledger.charged(metered(1n), 7n)
  await ledger.paid(metered(1n), { network: 'eip155:8453', transaction: '0xabc' })
  expect(await open().spentTodayMicro()).toBe(57n)
  expect(await open().uncharged()).toMatchObject([{ id: metered(2n), amountMicro: 50n }])
  nowMs = Date.parse('2026-11-18T00:20:00Z')
  expect(await open().spentTodayMicro(), 'it may be charged today').toBe(57n)
  nowMs = Date.parse('2026-11-19T00:20:00Z')
  expect(await open().spentTodayMicro()).toBe(0n)
})

test('what was refused and is granted later, under the same name, counts', async () => {
  const ledger = open()
  await ledger.reserve(payment('one'), 10n)
  expect(await ledger.reserve(payment('two'), 10n)).toBe(false)
  await ledger.unused('one')
  expect(await ledger.reserve(payment('two'), 10n)).toBe(true)
  expect(await open().spentTodayMicro()).toBe(10n)
})

test('every line is JSON; a line that was cut off by a power cut is skipped', async () => {
  await open().reserve(payment('one'), 100n)
  appendFileSync(file(), '{"event":"signed","at":"2026-')
  await open().reserve(payment('two'), 100n)
  expect(await open().spentTodayMicro()).toBe(20n)
  const lines = readFileSync(file(), 'utf8').split('\n').filter(Boolean)
  expect(lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line).event)).toEqual([
    'signed',
    'signed',
  ])
})

test('a ledger that was emptied under a running bridge grants nothing', async () => {
  const ledger = open()
  await ledger.reserve(payment('one'), 100n)
  await ledger.reserve(payment('two'), 100n)
  rmSync(file())
  await expect(ledger.reserve(payment('three'), 100n)).rejects.toThrow(
    'was changed by something else; nothing was signed',
  )
})
