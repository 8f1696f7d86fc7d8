import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts'
import { eventually, PRICE, startWorld, type World } from './world.ts'

let receiver: WebhookReceiver
let books: WebhookReceiver
let world: World

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  books = await startWebhookReceiver()
  world = await startWorld({
    process: false,
    options: {
      webhooks: [
        { url: receiver.url, secret: receiver.secret },
        { url: books.url, secret: books.secret, events: ['payment.settled'] },
      ],
      webhookAllowHosts: [receiver.host, books.host],
    },
  })
})
afterAll(async () => {
  await world.stop()
  await receiver.down()
  await books.down()
})

test('an embedded gateway tells each endpoint what it asked for, under the same ids', async () => {
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const bought = await world.buy(buyer, { planId: 'basic', resourceId: 'maps' })
  const { challengeId, txHash } = bought.body
  await eventually(() => receiver.events.length >= 2 && books.events.length > 0)
  expect(receiver.events.map(({ type }) => type)).toEqual(['payment.settled', 'access.delivered'])
  expect(books.events).toEqual([receiver.events[0]])
  expect(receiver.events[0]).toMatchObject({
    id: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
    data: {
      ...{ challengeId, txHash, state: 'PAID', planId: 'basic', resourceId: 'maps' },
      ...{ amount: String(PRICE), network: 'eip155:84532', payer: buyer.address.toLowerCase() },
    },
  })
})

test('a sale is the same while an endpoint is dead, and what it missed comes when it is back', async () => {
  await receiver.down()
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const bought = await world.buy(buyer)
  expect(bought.status).toBe(200)
  await eventually(() => books.events.some(({ data }) => data.challengeId === bought.body.challengeId))
  await receiver.up()
  await eventually(
    () => receiver.events.filter(({ data }) => data.challengeId === bought.body.challengeId).length === 2,
  )
  expect(new Set(receiver.events.map(({ id }) => id)).size).toBe(4)
}, 60_000)

test('the operator of an embedded gateway can try an endpoint', async () => {
  const { events } = world.gateway.backstage
  expect(await events!.test(events!.endpoints[0]!.id)).toEqual({ status: 200, text: '' })
  expect(receiver.events.at(-1)).toMatchObject({ type: 'webhook.test' })
})
