import { UptoEvmScheme } from '@x402/evm/upto/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeJson } from '../../src/protocol/base64.ts'
import type { Route } from '../../src/protocol/catalog.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { type RoutesWorld, startRoutesWorld } from '../e2e/routes-world.ts'

const MAX = 20_000n
const PURSE = 20n * MAX
const ROUTES: Route[] = [
  {
    ...{ routeId: 'chat', path: '/chat', method: 'POST', scheme: 'upto', maxAmount: '$0.02', raw: true },
    stream: { maxUnpaidPerPayer: '$0.04', maxUnpaid: '$0.06' },
  },
]
const EVENT = 'data: {"text":"hello"}\n\n'

let shop: RoutesWorld
beforeAll(async () => {
  shop = await startRoutesWorld({ options: { routes: ROUTES } })
})
afterAll(() => shop.stop())

const TYPE = { 'content-type': 'text/event-stream' }

async function newBuyer(): Promise<DevAccount> {
  const buyer = await shop.world.chain.newBuyer({ micro: PURSE })
  await approvePermit2(shop.world.chain, buyer)
  return buyer
}

async function sign(buyer: DevAccount): Promise<RequestInit> {
  const { accepts } = await shop.termsOf('/chat', { method: 'POST' })
  const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, accepts[0] as never)
  const header = encodeJson({ x402Version: 2, accepted: accepts[0], payload })
  return { method: 'POST', headers: { 'payment-signature': header } }
}

const send = (init: RequestInit) => fetch(`${shop.world.baseUrl}/chat`, init)

/** A buyer with a metered charge in a final block, which the gateway has noticed. */
async function trustedBuyer(): Promise<DevAccount> {
  const buyer = await newBuyer()
  for (;;) {
    shop.backend.answer = (_call, response) =>
      void response.writeHead(200, { ...TYPE, 'settlement-overrides': '{"amount":"1"}' }).end(EVENT)
    const answer = await send(await sign(buyer))
    await answer.text()
    if (answer.headers.get('payment-response') === null) return buyer
    await shop.world.chain.mine(2)
    await new Promise((later) => setTimeout(later, 200))
  }
}

/** What the buyer reads of one call, until it ends or breaks off. */
async function readCall(buyer: DevAccount): Promise<string> {
  let text = ''
  try {
    for await (const chunk of (await send(await sign(buyer))).body!) text += Buffer.from(chunk).toString()
  } catch {
    // It broke off.
  }
  return text
}

test.each<[string, RoutesWorld['backend']['answer']]>([
  ['take longer than a call may', (_call, response) => void response.writeHead(200, TYPE).write(EVENT)],
  [
    'name no charge',
    (_call, response) =>
      void response.writeHead(200, { ...TYPE, 'settlement-overrides': '{"amount":"much"}' }).end(EVENT),
  ],
])(
  'attack 62: answers that go out, and then %s, are among what a route loses in a day',
  async (_, answer) => {
    // $0.02 each: one payer may leave $0.04 unpaid, and all together $0.06.
    const buyer = await trustedBuyer()
    shop.backend.answer = answer
    const read: boolean[] = []
    for (let call = 0; call < 4; call++) read.push((await readCall(buyer)).startsWith(EVENT))
    // The second kind finds the day's losses of the first.
    expect(read.filter(Boolean).length).toBeLessThanOrEqual(2)
  },
  60_000,
)
