import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLedger } from '../../src/bridge/ledger.ts'
import { createPurchases, type Made } from '../../src/bridge/make-purchases.ts'
import { createConnections } from '../../src/bridge/mcp-connections.ts'
import { openOrderBook } from '../../src/bridge/order-book.ts'
import type { Purchase } from '../../src/bridge/purchase.ts'
import { fileStorage } from '../../src/buyer/index.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { startAssistant } from './bridge-client.ts'
import { type RoutesWorld, startRoutesWorld } from './routes-world.ts'

let shop: RoutesWorld
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-metered-'))
  shop = await startRoutesWorld({
    options: {
      routes: [{ routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' }],
      mcp: { routes: true },
    },
  })
  shop.backend.answer = hello
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await shop?.stop()
})

const hello: RoutesWorld['backend']['answer'] = (_call, response) =>
  void response.writeHead(200, { 'settlement-overrides': '{"amount":"1858"}' }).end('hello')

/** A bridge that may spend the maximum of a metered call twice a day. */
function open({ account }: DevAccount) {
  const { chain, baseUrl } = shop.world
  const own = join(folder, account.address)
  const ledger = openLedger(join(own, 'ledger.jsonl'))
  let signatures = 0
  const counting: typeof account = {
    ...account,
    signTypedData(typedData) {
      signatures += 1
      return account.signTypedData(typedData)
    },
  }
  const purchases = createPurchases({
    ...{
      account: counting,
      maxAmount: '$0.02',
      maxTotal: '$0.04',
      maxTotalMicro: 40_000n,
      maxBytes: 100_000,
    },
    allowedHosts: [new URL(baseUrl).host],
    payments: fileStorage(join(own, 'payments')),
    ledger,
    book: openOrderBook(own, account.address),
    connections: createConnections('0', { maxBytes: 100_000 }),
    say: () => {},
    rpcUrls: { [chain.network]: chain.rpcUrl },
  })
  const buy = async (purchase: Purchase) => {
    const made: Made = await purchases.make(purchase, undefined)
    if (made.kind !== 'answered') throw new Error(made.kind)
    made.handedOver()
    const { content, isError = false } = made.result
    return { text: content.map((part) => ('text' in part ? part.text : '')).join(' '), isError }
  }
  const call = async (body: string) => (await buy(httpCall(body))).text
  return { ledger, buy, call, signatures: () => signatures }
}
const httpCall = (body: string): Purchase => {
  return { kind: 'call', method: 'POST', url: `${shop.world.baseUrl}/chat`, body }
}
const toolCall = (body: string): Purchase => {
  return { kind: 'tool', url: `${shop.world.baseUrl}/mcp`, tool: 'chat', args: { body } }
}

test('a metered call counts by what it cost, and the ledger has it as paid', async () => {
  const { chain } = shop.world
  const payer = await chain.newBuyer({ micro: 100_000n })
  await approvePermit2(chain, payer)
  const { ledger, call } = open(payer)
  const prompts = ['1', '2', '3']
  for (const prompt of prompts) expect(await call(prompt)).toMatch(/Paid \$0\.001858 on Base Sepolia/)
  // By their maxima two would have used up the day.
  expect(await ledger.spentTodayMicro()).toBe(3n * 1858n)
  expect(await chain.balanceOf(payer.address)).toBe(100_000n - 3n * 1858n)
  expect(await ledger.entries()).toMatchObject(
    prompts.map(() => ({ state: 'paid', amountMicro: 1858n, transaction: expect.stringMatching(/^0x/) })),
  )
})

test.each([
  ['over HTTP', httpCall],
  ['of an MCP server', toolCall],
])(
  'a metered call %s that failed is not paid, and the same call sends the same payment again',
  async (_kind, callOf) => {
    const { chain } = shop.world
    const payer = await chain.newBuyer({ micro: 100_000n })
    await approvePermit2(chain, payer)
    const { ledger, buy, signatures } = open(payer)
    shop.backend.answer = (_call, response) => void response.writeHead(500).end('out of order')
    const madeBefore = shop.backend.seen.length
    for (const made of [1, 2]) {
      const failed = await buy(callOf('1'))
      expect(failed).toEqual({
        isError: true,
        text: expect.stringMatching(
          /The call failed, and nothing was charged\. The same call sends the same payment of at most \$0\.02 again/,
        ),
      })
      expect(failed.text).not.toContain('Paid')
      expect(shop.backend.seen.length - madeBefore).toBe(made)
    }
    expect(signatures()).toBe(1)
    // The permit can still be charged, so that its maximum counts.
    expect(await ledger.entries()).toMatchObject([{ state: 'signed', amountMicro: 20_000n }])
    shop.backend.answer = hello
    expect(await buy(callOf('1'))).toMatchObject({
      isError: false,
      text: expect.stringContaining('Paid $0.001858 on Base Sepolia'),
    })
    expect(signatures()).toBe(1)
    expect(await ledger.entries()).toMatchObject([{ state: 'paid', amountMicro: 1858n }])
    expect(await chain.balanceOf(payer.address)).toBe(100_000n - 1858n)
  },
)

test('a wallet that has not let Permit2 move its money is told so, in words of the bridge', async () => {
  const payer = await shop.world.chain.newBuyer({ micro: 100_000n })
  const said = await open(payer).call('1')
  expect(said).toMatch(/has not let Permit2 move \$0\.02.*call approve\(/)
  expect(said).not.toContain('approvePermit2')
})

test('who is asked first hears that a metered call costs up to its maximum', async () => {
  const { chain, baseUrl } = shop.world
  const buyer = await chain.newBuyer({ micro: 100_000n })
  await approvePermit2(chain, buyer)
  const flags = ['--max-amount', '$0.05', '--max-total', '$1.00', '--confirm']
  const assistant = await startAssistant([baseUrl], { buyer, ledger: join(folder, 'asked'), flags })
  const told = await assistant.call('chat', { body: { prompt: 'hello' } })
  expect(told.text).toMatch(
    /^This costs up to \$0\.02 in USDC on Base Sepolia to .*\. Nothing was paid yet\./,
  )
  await assistant.close()
})
