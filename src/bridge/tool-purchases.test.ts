import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fileStorage } from '../buyer/index.ts'
import { findNetwork } from '../protocol/networks.ts'
import { openLedger } from './ledger.ts'
import { createPurchases } from './make-purchases.ts'
import { createConnections } from './mcp-connections.ts'
import { openOrderBook } from './order-book.ts'

const { id: network, token } = findNetwork('base-sepolia')!
const payTo = `0x${'22'.repeat(20)}`
const accepts = [{ scheme: 'exact', network, asset: token.address, payTo, amount: '10000', extra: {} }]
const terms = { x402Version: 2, error: 'pay', resource: { url: 'mcp://x' }, accepts }
const text = (words: string) => [{ type: 'text', text: words }]
const toPay = { isError: true, structuredContent: terms, content: text(JSON.stringify(terms)) }

/** A seller's MCP server: it asks for a payment, unless the tool is free, and then answers this. */
let answer: object
let isFree: boolean
let nonces: string[]
let url: string
let cleanups: Array<() => unknown>
beforeEach(async () => {
  isFree = false
  nonces = []
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    if (body === '') return void response.writeHead(405).end()
    const { id, method, params } = JSON.parse(body)
    if (id === undefined) return void response.writeHead(202).end()
    const payment = params?._meta?.['x402/payment']
    if (payment) nonces.push(payment.payload.authorization.nonce)
    const results: Record<string, object> = {
      initialize: {
        ...{ protocolVersion: '2025-06-18', capabilities: { tools: {} } },
        serverInfo: { name: 's', version: '1' },
      },
      'tools/call': payment || isFree ? answer : toPay,
    }
    const result = results[method]
    const told = result ? { result } : { error: { code: -32601, message: 'no such method' } }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...told }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  cleanups = [() => server.close().closeAllConnections()]
})
afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

function bridge() {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-tools-'))
  const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
  const ledger = openLedger(join(folder, 'ledger.jsonl'))
  const book = openOrderBook(folder, account.address)
  const connections = createConnections('0', { maxBytes: 100_000 })
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }), connections.close)
  const purchases = createPurchases({
    ...{ account, ledger, book, connections, say: () => {} },
    ...{ maxAmount: '$0.01', maxTotal: '$0.03', maxTotalMicro: 30_000n, maxBytes: 100_000 },
    allowedHosts: [new URL(url).host],
    payments: fileStorage(join(folder, 'payments')),
  })
  const buy = async () => {
    const made = await purchases.make({ kind: 'tool', url, tool: 'weather', args: {} }, undefined)
    if (made.kind !== 'answered') throw new Error('not agreed')
    made.handedOver()
    return made.result.content.map((part) => ('text' in part ? part.text : '')).join(' | ')
  }
  const states = async () => (await ledger.entries()).map(({ state }) => state)
  return { buy, ledger, book, states }
}

const away = { isError: true, content: text('the weather service is away') }
const receipt = { 'x402/payment-response': { success: true, transaction: '0xab', network } }

test('a tool that fails without a receipt is not paid: the same payment is sent again, and no other is signed', async () => {
  answer = away
  const { buy, ledger, book, states } = bridge()
  for (let call = 0; call < 2; call++) {
    expect(await buy()).toMatch(
      /service is away.*may still be charged\. The same call sends the same payment/,
    )
  }
  expect([nonces.length, new Set(nonces).size]).toEqual([2, 1])
  expect([await states(), await ledger.spentTodayMicro()]).toEqual([['signed'], 10_000n])
  expect(book.unfinished()).toHaveLength(1)
  answer = { content: text('sun') }
  expect(await buy()).toMatch(/sun.*Paid \$0\.01/)
  expect([new Set(nonces).size, await states()]).toEqual([1, ['paid']])
})

test('a tool that fails with the receipt of its payment is paid, and so is an answer without a receipt', async () => {
  answer = { ...away, _meta: receipt }
  const { buy, states } = bridge()
  expect(await buy()).toMatch(/service is away.*Paid \$0\.01.*0xab/)
  answer = { content: text('sun') }
  expect(await buy()).toMatch(/sun.*Paid \$0\.01/)
  expect([new Set(nonces).size, await states()]).toEqual([2, ['paid', 'paid']])
})

test('a free tool that fails leaves nothing open', async () => {
  isFree = true
  answer = away
  const { buy, book, states } = bridge()
  expect(await buy()).toBe('the weather service is away')
  expect([book.unfinished(), await states()]).toEqual([[], []])
})
