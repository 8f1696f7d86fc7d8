import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fileStorage } from '../buyer/index.ts'
import { findNetwork } from '../protocol/networks.ts'
import { openLedger } from './ledger.ts'
import { createPurchases, type Made } from './make-purchases.ts'
import { createConnections } from './mcp-connections.ts'
import { openOrderBook } from './order-book.ts'
import type { Terms } from './terms.ts'

/** A seller of anybody's: it takes payments, and does with them what the test says. */
let seller: { url: string; paid: string[]; answer: (response: ServerResponse) => void; stop(): void }
let folder: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-purchases-'))
  const server = createServer((request, response) => serve(request, response))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  seller = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/thing`,
    paid: [],
    answer: (response) => void response.end('here it is'),
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
})
afterEach(() => {
  seller.stop()
  rmSync(folder, { recursive: true, force: true })
})

const { id: network, token } = findNetwork('base-sepolia')!
function serve({ headers }: IncomingMessage, response: ServerResponse): void {
  const payment = headers['payment-signature']
  if (payment !== undefined) {
    seller.paid.push(String(payment))
    seller.answer(response)
    return
  }
  const payTo = `0x${'22'.repeat(20)}`
  const accepts = [{ scheme: 'exact', network, asset: token.address, amount: '10000', payTo, extra: {} }]
  response.writeHead(402).end(JSON.stringify({ x402Version: 2, accepts }))
}

const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
/** A process of its own would see the same files. */
function open(more: { hosts?: string[]; maxTotal?: bigint } = {}) {
  const ledger = openLedger(join(folder, 'ledger.jsonl'))
  const book = openOrderBook(folder, account.address)
  const purchases = createPurchases({
    account,
    maxAmount: '$0.01',
    maxTotal: '$0.03',
    maxTotalMicro: more.maxTotal ?? 30_000n,
    allowedHosts: more.hosts ?? [new URL(seller.url).host],
    payments: fileStorage(join(folder, 'payments')),
    ledger,
    book,
    connections: createConnections('0', { maxBytes: 1000 }),
    maxBytes: 1000,
    say: () => {},
  })
  return { purchases, ledger, book }
}
const call = () => ({ kind: 'call', method: 'GET', url: seller.url }) as const
const textOf = (made: Made) =>
  made.kind === 'answered'
    ? made.result.content.map((part) => ('text' in part ? part.text : '')).join(' ')
    : ''

test('an answer is kept until it is handed over; then the same call is a new purchase', async () => {
  const { purchases, book } = open()
  const made = await purchases.make(call(), undefined)
  expect(textOf(made)).toContain('here it is')
  expect(book.answers()).toHaveLength(1)
  // It never reached whoever asked, so that the next one gets it for nothing.
  const again = await open().purchases.make(call(), undefined)
  expect(textOf(again)).toContain('had not reached you')
  expect(seller.paid).toHaveLength(1)
  if (again.kind === 'answered') again.handedOver()
  await purchases.make(call(), undefined)
  expect(new Set(seller.paid).size).toBe(2)
})

test('the same call at the same time is one purchase', async () => {
  const { purchases } = open()
  await Promise.all([1, 2, 3].map(() => purchases.make(call(), undefined)))
  expect(seller.paid).toHaveLength(1)
})

test('a seller that took the payment and refuses gets the same payment again, never another one', async () => {
  seller.answer = (response) => void response.writeHead(400).end('no')
  const { purchases, ledger } = open()
  expect(textOf(await purchases.make(call(), undefined))).toMatch(
    /may still be charged\. The same call sends the same/,
  )
  await open().purchases.finishEarlier()
  await purchases.make(call(), undefined)
  expect(seller.paid).toHaveLength(3)
  expect(new Set(seller.paid).size).toBe(1)
  expect(await ledger.spentTodayMicro()).toBe(10_000n)
  seller.answer = (response) => void response.end('after all')
  expect(textOf(await purchases.make(call(), undefined))).toContain('after all')
  expect(new Set(seller.paid).size).toBe(1)
})

test('an answer that is too long is paid for once, and said', async () => {
  seller.answer = (response) => void response.end('x'.repeat(2000))
  const made = await open().purchases.make(call(), undefined)
  expect(textOf(made)).toMatch(/sent more than 1000 bytes.*\$0\.01 was paid/)
})

test('a payment that is stored is not sent to a host that is no longer allowed, and no other is signed', async () => {
  seller.answer = (response) => void response.writeHead(400).end('no')
  await open().purchases.make(call(), undefined)
  const refused = textOf(await open({ hosts: ['other.example'] }).purchases.make(call(), undefined))
  expect(refused).toMatch(/it was not sent.*may still be charged.*--allow-host/)
  expect(seller.paid).toHaveLength(1)
})

test('what is not agreed to is not signed, and what the budget does not allow is not asked', async () => {
  const { purchases, book } = open()
  const told = await purchases.make(call(), 'nothing')
  expect(told).toMatchObject({ kind: 'unconfirmed', offer: { amountMicro: 10_000n, scheme: 'exact' } })
  const { offer } = told as Extract<Made, { kind: 'unconfirmed' }>
  const otherAccount = `0x${'33'.repeat(20)}` as const
  const others: Array<Partial<Terms>> = [
    { amountMicro: 9_999n },
    { network: { ...offer.network, id: 'eip155:8453' } },
    { network: { ...offer.network, asset: otherAccount } },
    { scheme: 'upto' },
    { payTo: otherAccount },
  ]
  for (const other of others)
    expect(await purchases.make(call(), { ...offer, ...other })).toMatchObject({ kind: 'unconfirmed' })
  expect(book.unfinished()).toEqual([])
  expect(textOf(await open({ maxTotal: 9_999n }).purchases.make(call(), 'nothing'))).toContain('budget')
  expect(textOf(await purchases.make(call(), { ...offer, amountMicro: 10_001n }))).toContain('here it is')
  expect(seller.paid).toHaveLength(1)
})
