import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Route } from '../../src/protocol/catalog.ts'
import type { PaymentRequirements } from '../../src/protocol/payment.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import { sendAgent } from './onboarding-agent.ts'
import { type RoutesWorld, startRoutesWorld } from './routes-world.ts'

const METERED: Route = { routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' }
const ROUTES: Route[] = [
  METERED,
  { ...METERED, routeId: 'raw', path: '/raw', raw: true },
  { routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' },
]

let shop: RoutesWorld
beforeAll(async () => {
  shop = await startRoutesWorld({ store: 'embedded', options: { routes: ROUTES } })
})
afterAll(() => shop.stop())

const read = async (path: string) => (await fetch(shop.world.baseUrl + path)).text()

describe('what the documents say of a route', () => {
  test('.well-known/x402 names the terms of its 402', async () => {
    const { items } = JSON.parse(await read('/.well-known/x402')) as {
      items: Array<{ resource: { url: string }; accepts: PaymentRequirements[]; input: { method: string } }>
    }
    const schemes: string[] = []
    for (const { resource, accepts, input } of items.filter(
      ({ resource: { url } }) => !/access$/.test(url),
    )) {
      const { method } = input
      const live = await shop.termsOf(resource.url.slice(shop.world.baseUrl.length), { method })
      expect(live.accepts[0]).toMatchObject(accepts[0]!)
      expect(live.accepts[0]!.extra.paymentFlow).toBe(accepts[0]!.extra.paymentFlow)
      schemes.push(accepts[0]!.scheme)
    }
    expect(schemes).toEqual(['upto', 'upto', 'exact'])
  })

  test('openapi.json offers MPP where its 402 does', async () => {
    const { paths } = JSON.parse(await read('/openapi.json')) as {
      paths: Record<string, Record<string, { 'x-payment-info': { protocols: object[] } }>>
    }
    for (const { method, path } of ROUTES) {
      const answer = await fetch(shop.world.baseUrl + path, { method })
      const { protocols } = paths[path]![method.toLowerCase()]!['x-payment-info']
      expect(protocols.some((protocol) => 'mpp' in protocol)).toBe(answer.headers.has('www-authenticate'))
    }
  })

  test('its 402 promises a refund, or says that nothing is charged', async () => {
    const refundsOf = async (path: string, method: string) => {
      const { extensions } = (await (await fetch(shop.world.baseUrl + path, { method })).json()) as {
        extensions: { svc: { refunds: { description: string } } }
      }
      return extensions.svc.refunds.description
    }
    expect(await refundsOf('/chat', 'POST')).toMatch(/^Nothing is charged for a metered call that fails/)
    expect(await refundsOf('/weather', 'GET')).toMatch(/^What is paid and not delivered is refunded/)
  })
})

test('an agent that follows skills.md of a shop with metered calls only pays one', async () => {
  await shop.world.restart({ plans: [], routes: [METERED] })
  shop.backend.answer = (_call, response) =>
    void response.writeHead(200, { 'settlement-overrides': '{"amount":"1858"}' }).end('{}')
  const buyer = await shop.world.chain.newBuyer({ micro: 100_000n })
  await approvePermit2(shop.world.chain, buyer)
  const agent = await sendAgent(shop.world.baseUrl, buyer.privateKey)
  try {
    expect(agent.commands).toEqual([
      `npx paystile buy '${shop.world.baseUrl}/chat' --method POST --max-amount '$0.02' --approve`,
      'npm install @x402/fetch @x402/evm viem',
      'node official.mjs',
    ])
    const [, install, pay] = agent.commands as [string, string, string]
    await agent.run(install)
    const paid = await agent.run(pay)
    expect(paid).toMatchObject({ code: 0, out: expect.stringMatching(/^200 .*"routeId":"chat"/) })
    expect(await agent.typeErrors('official.mjs')).toBe('')
    expect(await shop.world.chain.balanceOf(buyer.address)).toBe(100_000n - 1858n)
  } finally {
    await agent.leave()
  }
})
