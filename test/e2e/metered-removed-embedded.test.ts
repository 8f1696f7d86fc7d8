import { UptoEvmScheme } from '@x402/evm/upto/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Gateway } from '../../src/gateway.ts'
import { decodeJsonObject, encodeJson } from '../../src/protocol/base64.ts'
import type { Route } from '../../src/protocol/catalog.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { serveHttp } from '../../src/server/serve-http.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import { eventually, startWorld, type World } from './world.ts'

const CHAT = { routeId: 'chat', method: 'POST', path: '/chat' } as const
const METERED: Route = { ...CHAT, scheme: 'upto', maxAmount: '$0.02' }
const FIXED: Route = { ...CHAT, unitAmount: '$0.01' }

let world: World
/** What the handler does before it answers. */
let beforeAnswer: () => Promise<unknown>
beforeAll(async () => {
  world = await startWorld({
    store: 'embedded',
    options: { routes: [METERED] },
    serve: (gateway, port) =>
      serveHttp({
        handler: async (request, peer) => (await gateway.handle(request, peer)) ?? ownApp(gateway, request),
        ...{ port, host: '127.0.0.1' },
      }),
  })
})
afterAll(() => world.stop())

/** The seller's own application: it sells its route as long as the catalog has it. */
async function ownApp(gateway: Gateway, request: Request): Promise<Response> {
  const isSold = gateway.discovery.routes.some(({ path }) => path === new URL(request.url).pathname)
  if (!isSold) return new Response('no page of mine', { status: 404 })
  const charged = await gateway.chargeRoute(request, 'chat')
  if (charged.kind === 'respond') return charged.response
  if (charged.kind === 'paid') throw new Error('nobody pays the fixed price here')
  await beforeAnswer()
  charged.charge('1858')
  return charged.finish({ status: 200, headers: { 'content-type': 'text/plain' }, body: 'clear' })
}

test.each<[string, Route[]]>([
  ['is gone', []],
  ['has a fixed price', [FIXED]],
])(
  'the open charge of a metered handler whose route %s is settled, and its buyer gets the answer',
  async (_, routes) => {
    await world.restart({ routes: [METERED] })
    const { chain } = world
    const buyer = await chain.newBuyer({ micro: 100_000n })
    await approvePermit2(chain, buyer)
    beforeAnswer = () => approvePermit2(chain, buyer, 0n)
    const call = (headers: Record<string, string> = {}) =>
      fetch(`${world.baseUrl}/chat`, { method: 'POST', body: 'the sky?', headers })
    const signed = async () => {
      const required = (await call()).headers.get('payment-required')!
      const { accepts } = decodeJsonObject(required) as unknown as PaymentRequired
      const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, accepts[0] as never)
      return { 'payment-signature': encodeJson({ x402Version: 2, accepted: accepts[0], payload }) }
    }
    const unsent = await signed()
    const paid = await signed()
    expect((await call(paid)).status).toBe(503)

    await world.restart({ routes })
    expect((await call(unsent)).status).toBe(routes.length > 0 ? 400 : 404)
    await approvePermit2(chain, buyer, 100_000n)
    const answer = await eventually(async () => {
      const response = await call(paid)
      return response.status !== 503 && response
    })
    expect([answer.status, await answer.text()]).toEqual([200, 'clear'])
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    expect(await chain.balanceOf(buyer.address)).toBe(100_000n - 1858n)
  },
  60_000,
)
