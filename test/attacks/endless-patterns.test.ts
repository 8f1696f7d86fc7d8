import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DevChain } from '../../src/testing/index.ts'
import { type Shop, shopEnv, startChains, startShop } from '../networks/shop.ts'

/** As long as a request line or a header of the standalone server may be. */
const LONG = 60_000
const MIB = 1024 * 1024
/** Patterns that look at the same characters again and again took seconds to minutes of the process. */
const SOON_MS = 5_000

let chains: DevChain[]
let shop: Shop
beforeAll(async () => {
  chains = await startChains(84532)
  shop = await startShop(shopEnv(chains, { MCP_ENABLED: 'true' }))
}, 120_000)
afterAll(async () => {
  await shop?.stop()
  await Promise.all((chains ?? []).map((chain) => chain.stop()))
})

function call(payment: string): RequestInit {
  const params = {
    name: 'request_access',
    arguments: { planId: 'basic' },
    _meta: { 'x402/payment': payment },
  }
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  }
}

test.each<[string, string, RequestInit]>([
  ['a payment of equals signs', '/x402/access', { headers: { 'payment-signature': `${'='.repeat(LONG)}a` } }],
  ['a sign-in of equals signs', '/x402/access', { headers: { 'sign-in-with-x': `${'='.repeat(LONG)}a` } }],
  [
    'a credential of equals signs',
    '/x402/access',
    { headers: { authorization: `Payment ${'='.repeat(LONG)}a` } },
  ],
  [
    'quotes that nobody closes',
    '/x402/access',
    { headers: { authorization: `Payment "${'\\"'.repeat(LONG / 2)}` } },
  ],
  ['spaces and commas', '/x402/access', { headers: { authorization: `x${' ,'.repeat(LONG / 2)}` } }],
  ['a payment of equals signs in a message', '/mcp', call(`${'='.repeat(MIB - 1000)}a`)],
])('attack 59: %s are refused at once', async (_what, path, init) => {
  const startedMs = performance.now()
  const answer = await fetch(shop.url + path, { method: 'POST', ...init })
  await answer.text()
  expect(performance.now() - startedMs).toBeLessThan(SOON_MS)
  expect(answer.status).toBeLessThan(500)
})
