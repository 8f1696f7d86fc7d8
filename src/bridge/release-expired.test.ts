import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fileStorage } from '../buyer/index.ts'
import { reservationOf } from '../buyer/reservations.ts'
import { encodeJson } from '../protocol/base64.ts'
import { openLedger } from './ledger.ts'
import { openOrderBook } from './order-book.ts'
import type { Purchase } from './purchase.ts'
import { releaseExpired } from './release-expired.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-release-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const payer = `0x${'11'.repeat(20)}`
const callTo = (path: string): Purchase => ({ kind: 'call', method: 'GET', url: `https://s.example/${path}` })
function paymentOf(nonce: string) {
  const authorization = { from: payer, nonce: `0x${nonce.repeat(64)}` }
  const header = encodeJson({ payload: { authorization } })
  return { header, subject: 's', network: 'eip155:84532', amount: '10000', validBefore: '1' }
}

test('a payment that cannot be read keeps its place in the total, and keeps no other from being taken back', async () => {
  const ledger = openLedger(join(folder, 'ledger.jsonl'))
  const book = openOrderBook(folder, payer)
  const payments = fileStorage(join(folder, 'payments'))
  const [first, second, third] = ['one', 'two', 'three'].map((path) => book.open(callTo(path)).id)
  for (const [id, nonce] of [[first!, '1'] as const, [second!, '2'] as const, [third!, '3'] as const]) {
    const payment = paymentOf(nonce)
    const entry = { id: reservationOf(payment), payer, host: 's.example', for: 'a call' }
    await ledger.reserve({ ...entry, amountMicro: 10_000n }, 30_000n)
    await payments.claim(id, id === second ? { ...payment, header: 'torn' } : payment)
  }
  await releaseExpired({ book, payments, ledger, statusOf: async () => ({ kind: 'unused' }) })
  expect(await ledger.spentTodayMicro()).toBe(10_000n)
  expect(book.unfinished().map(({ id }) => id)).toEqual([second])
})
