import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { DevChain } from '../../src/testing/index.ts'
import { eventually } from '../e2e/world.ts'
import {
  access,
  askUntil,
  entryOn,
  flowsOn,
  PRICE,
  type Shop,
  shopEnv,
  signFor,
  startChains,
  startShop,
  termsOf,
} from './shop.ts'

const CALL = 10_000n

let chains: DevChain[]
let shop: Shop
let backend: Server

beforeAll(async () => {
  chains = await startChains(84532, 421614, 11142220)
  backend = createServer((request, response) => {
    response.writeHead(request.url === '/fails' ? 500 : 200, { 'content-type': 'application/json' })
    response.end('{"sun":true}')
  })
  await new Promise<void>((listening) => backend.listen(0, '127.0.0.1', listening))
  const { port } = backend.address() as AddressInfo
  shop = await startShop(
    shopEnv(chains, {
      ROUTES: JSON.stringify([
        { routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' },
        { routeId: 'fails', method: 'GET', path: '/fails', unitAmount: '$0.01' },
      ]),
      PROXY_TO_BASE_URL: `http://127.0.0.1:${port}`,
      MCP_ENABLED: 'true',
    }),
  )
}, 120_000)

afterAll(async () => {
  await shop?.stop()
  backend?.close()
  await Promise.all((chains ?? []).map((chain) => chain.stop()))
})

/** The official client, as its documentation shows it: it pays what is offered first among what it knows. */
function officialFetch(buyer: { account: ConstructorParameters<typeof ExactEvmScheme>[0] }, network: string) {
  const client = new x402Client()
  client.register(network as `${string}:${string}`, new ExactEvmScheme(buyer.account))
  return wrapFetchWithPayment(fetch, client)
}

describe('one shop on three networks', () => {
  test('a 402 has an entry per network, in the order of the configuration, and its headers stay small', async () => {
    const response = await fetch(`${shop.url}/weather`)
    expect(response.status).toBe(402)
    const header = response.headers.get('payment-required')!
    const required = decodeJsonObject(header) as { accepts: Array<Record<string, unknown>> }
    expect(
      required.accepts.map(({ network, asset, amount }) => [network, String(asset).toLowerCase(), amount]),
    ).toEqual(chains.map(({ network, usdc }) => [network, usdc.toLowerCase(), '10000']))
    expect(required.accepts.map(({ extra }) => (extra as { name: string }).name)).toEqual([
      'USDC',
      'USD Coin',
      'USDC',
    ])
    const all = [...response.headers].reduce(
      (bytes, [name, value]) => bytes + name.length + value.length + 4,
      0,
    )
    expect(all).toBeLessThan(6 * 1024)
  })

  test('the unmodified official client with money on the second network only buys there', async () => {
    const second = chains[1]!
    const buyer = await second.newBuyer({ micro: CALL })
    const response = await officialFetch(buyer, second.network)(`${shop.url}/weather`)
    expect(response.status).toBe(200)
    const settled = decodeJsonObject(response.headers.get('payment-response')!) as { network: string }
    expect(settled.network).toBe(second.network)
    expect(await second.balanceOf(buyer.address)).toBe(0n)
    for (const other of [chains[0]!, chains[2]!]) {
      expect(await flowsOn(other, buyer)).toEqual({ paid: 0n, back: 0n })
    }
  })

  test.each([0, 1, 2])(
    'a failed call that was paid on network %i is given back there',
    async (index) => {
      const chain = chains[index]!
      const buyer = await chain.newBuyer({ micro: CALL })
      const response = await officialFetch(buyer, chain.network)(`${shop.url}/fails`)
      expect(response.headers.get('x-svc-code')).toBe('DELIVERY_FAILED')
      await eventually(async () => {
        await chain.mine(1)
        return (await chain.balanceOf(buyer.address)) === CALL
      })
      for (const each of chains) {
        const moved = each === chain ? CALL : 0n
        expect(await flowsOn(each, buyer)).toEqual({ paid: moved, back: moved })
      }
    },
    60_000,
  )

  test('an authorization for one network is refused when it is shown for another', async () => {
    const [first, second] = [chains[0]!, chains[1]!]
    const buyer = await first.newBuyer({ micro: PRICE })
    await second.mint(buyer.address, PRICE)
    const body = { planId: 'basic', requestId: crypto.randomUUID() }
    const required = termsOf((await access(shop.url, body))!)
    const header = await signFor(buyer, entryOn(required, first))
    const payload = decodeJsonObject(header) as Record<string, unknown>
    const moved = { ...payload, accepted: entryOn(required, second) }
    const elsewhere = Buffer.from(JSON.stringify(moved)).toString('base64')
    const refused = (await access(shop.url, body, elsewhere))!
    expect(refused.status).toBe(400)
    expect(refused.body.code).toBe('INVALID_PROOF')
    expect(await second.balanceOf(buyer.address)).toBe(PRICE)
    // Where it was signed for, it still buys.
    expect((await askUntil(shop.url, body, [200], header)).status).toBe(200)
    expect(await first.balanceOf(buyer.address)).toBe(0n)
    expect(await second.balanceOf(buyer.address)).toBe(PRICE)
  })

  test('one gas key serves all networks with nonces of their own', async () => {
    const buyers = await Promise.all(chains.map((chain) => chain.newBuyer({ micro: 5n * CALL })))
    await Promise.all(
      chains.flatMap((chain, index) => {
        const pay = officialFetch(buyers[index]!, chain.network)
        return Array.from({ length: 5 }, async () => {
          expect((await pay(`${shop.url}/weather`)).status).toBe(200)
        })
      }),
    )
    for (const [index, chain] of chains.entries()) {
      expect(await chain.balanceOf(buyers[index]!.address)).toBe(0n)
    }
  })
})
