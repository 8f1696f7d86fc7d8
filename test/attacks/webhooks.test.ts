import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createGateway } from '../../src/gateway.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../e2e/webhook-receiver.ts'
import { eventually, PRICE, startWorld, type World } from '../e2e/world.ts'

let inside: WebhookReceiver
let redirecting: Server
let redirected = 0
let world: World

beforeAll(async () => {
  inside = await startWebhookReceiver()
  redirecting = createServer((_request, response) => {
    redirected += 1
    response.writeHead(307, { location: inside.url }).end()
  })
  await new Promise<void>((listening) => redirecting.listen(0, '127.0.0.1', listening))
  const host = `127.0.0.1:${(redirecting.address() as AddressInfo).port}`
  // It may be called, and sends us on to one that may not.
  const webhooks = [{ url: `http://${host}/`, secret: inside.secret }]
  world = await startWorld({ process: false, options: { webhooks, webhookAllowHosts: [host] } })
})
afterAll(async () => {
  await world.stop()
  await inside.down()
  redirecting.close()
})

test('attack 56: an endpoint on a private address is refused at the start', async () => {
  const { port } = new URL(inside.url)
  for (const host of ['127.0.0.1', 'localhost', '0x7f.1', '[::1]', '169.254.169.254', '[::ffff:10.0.0.1]']) {
    const webhooks = [{ url: `http://${host}:${port}/`, secret: inside.secret }]
    const starting = createGateway({
      ...{
        walletAddress: world.chain.account(0).address,
        gasWalletPrivateKey: world.chain.account(1).privateKey,
      },
      ...{ rpcUrl: world.chain.rpcUrl, plans: [{ planId: 'basic', unitAmount: '$1.00' }], store: 'memory' },
      ...{ tokenSecret: 'a shared secret of more than thirty-two bytes', webhooks },
    })
    await expect(starting, host).rejects.toThrow('is a private address, which is not called unless')
  }
})

test('attack 56: no redirect leads to a private address, and the sale goes on', async () => {
  const bought = await world.buy(await world.chain.newBuyer({ micro: PRICE }))
  expect(bought.status).toBe(200)
  await eventually(() => redirected > 0)
  const { events } = world.gateway.backstage
  expect(await events!.test(events!.endpoints[0]!.id)).toEqual({
    status: 307,
    text: 'a redirect, which is not followed',
  })
  expect([inside.events, inside.forged]).toEqual([[], []])
})
