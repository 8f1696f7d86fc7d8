import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLedger } from '../../src/bridge/ledger.ts'
import { createPurchases, type Made } from '../../src/bridge/make-purchases.ts'
import { createConnections } from '../../src/bridge/mcp-connections.ts'
import { openOrderBook } from '../../src/bridge/order-book.ts'
import { fileStorage } from '../../src/buyer/index.ts'
import { findNetwork } from '../../src/protocol/networks.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'

const { id: network, token } = findNetwork('base-sepolia')!
const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)

let chain: DevChain
let folder: string
let refuse: (response: ServerResponse) => void
const paid: string[] = []
/** A seller that takes no payment to the chain. */
const seller = createServer(({ headers }, response) => {
  const payment = headers['payment-signature']
  if (payment !== undefined) {
    paid.push(String(payment))
    return refuse(response)
  }
  const payTo = `0x${'22'.repeat(20)}`
  const accepts = [{ scheme: 'exact', network, asset: token.address, amount: '10000', payTo, extra: {} }]
  response.writeHead(402).end(JSON.stringify({ x402Version: 2, accepts }))
})
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-expired-'))
  chain = await startDevChain()
  await new Promise<void>((listening) => seller.listen(0, '127.0.0.1', listening))
})
afterAll(async () => {
  seller.closeAllConnections()
  seller.close()
  rmSync(folder, { recursive: true, force: true })
  await chain?.stop()
})

let aheadMs = 0
async function pass(seconds: number): Promise<void> {
  aheadMs += seconds * 1000
  await chain.increaseTime(seconds)
}

/** A bridge with room for two payments, on the same folder as those before it. */
function open() {
  const now = () => Date.now() + aheadMs
  const ledger = openLedger(join(folder, 'ledger.jsonl'), now)
  const book = openOrderBook(folder, account.address)
  const purchases = createPurchases({
    account,
    maxAmount: '$0.01',
    maxTotal: '$0.02',
    maxTotalMicro: 20_000n,
    allowedHosts: [`127.0.0.1:${(seller.address() as AddressInfo).port}`],
    payments: fileStorage(join(folder, 'payments')),
    ledger,
    book,
    connections: createConnections('0', { maxBytes: 1000 }),
    maxBytes: 1000,
    say: () => {},
    rpcUrls: { [network]: chain.rpcUrl },
    clock: { now, sleep: (ms) => new Promise((done) => setTimeout(done, ms)) },
  })
  const call = async (path: string) => {
    const url = `http://127.0.0.1:${(seller.address() as AddressInfo).port}/${path}`
    return textOf(await purchases.make({ kind: 'call', method: 'GET', url }, undefined))
  }
  return { purchases, ledger, book, call }
}
const textOf = (made: Made) =>
  made.kind === 'answered'
    ? made.result.content.map((part) => ('text' in part ? part.text : '')).join(' ')
    : ''

test.each([
  ['refuses it', (response: ServerResponse) => void response.writeHead(400).end('no')],
  [
    'says that it was not paid',
    (response: ServerResponse) => void response.writeHead(402).end('{"x402Version":2,"accepts":[]}'),
  ],
])('a payment that expired unused no longer counts, when its seller %s', async (_what, answer) => {
  refuse = answer
  const { ledger, book, call } = open()
  expect(await call('one')).toMatch(/may still be charged/)
  expect(await call('two')).toMatch(/may still be charged/)
  expect(await ledger.spentTodayMicro()).toBe(20_000n)
  expect(await call('three')).toContain('budget')

  // The chain is asked before anybody is refused: both have expired, and make room.
  await pass(300)
  const before = paid.length
  expect(await call('three')).toMatch(/may still be charged/)
  expect(paid).toHaveLength(before + 1)
  expect(await ledger.spentTodayMicro()).toBe(10_000n)
  expect(book.unfinished()).toHaveLength(1)
  expect((await ledger.entries()).map(({ state }) => state).slice(-3)).toEqual(['unused', 'unused', 'signed'])

  // One that is left is released by the next start, too.
  await pass(300)
  const next = open()
  await next.purchases.finishEarlier()
  expect(await next.ledger.spentTodayMicro()).toBe(0n)
  expect(next.book.unfinished()).toEqual([])
  expect(await chain.balanceOf(account.address)).toBe(0n)
})
