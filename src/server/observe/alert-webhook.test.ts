import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createAlertWebhook } from './alert-webhook.ts'

const alert = { kind: 'refund-failed', message: 'no funds', at: '2030-01-01T00:00:00.000Z', count: 3 }
const cleanups: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

async function receiver(answer: (request: IncomingMessage, response: ServerResponse, nth: number) => void) {
  const bodies: unknown[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    bodies.push(JSON.parse(text))
    answer(request, response, bodies.length)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  cleanups.push(async () => {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, bodies }
}

test('an alert arrives as JSON that chat services and programs both read; a 5xx is tried again', async () => {
  const { url, bodies } = await receiver((_, response, nth) => response.writeHead(nth < 3 ? 503 : 204).end())
  const failures: string[] = []
  const webhook = createAlertWebhook({
    url: () => url,
    onFailure: (reason) => void failures.push(reason),
    retryAfterMs: 1,
  })
  webhook.send(alert)
  await webhook.idle()
  expect(bodies).toHaveLength(3)
  expect(bodies[2]).toEqual({
    type: 'Alert',
    text: 'paystile refund-failed: no funds (3 times)',
    ...alert,
  })
  expect(failures).toEqual([])
})

test('a receiver that hangs, redirects or is down is given up after three tries, and blocks nothing', async () => {
  const hanging = await receiver(() => undefined)
  const redirecting = await receiver((_, response) =>
    response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end(),
  )
  const failures: string[] = []
  let url = hanging.url
  const webhook = createAlertWebhook({
    url: () => url,
    onFailure: (reason) => void failures.push(reason),
    timeoutMs: 1000,
    retryAfterMs: 1,
  })
  expect(webhook.send(alert), 'returns at once').toBeUndefined()
  await webhook.idle()
  url = redirecting.url
  webhook.send(alert)
  await webhook.idle()
  url = 'http://127.0.0.1:9/hook'
  webhook.send(alert)
  await webhook.idle()
  expect(hanging.bodies).toHaveLength(3)
  expect(redirecting.bodies).toHaveLength(3)
  expect(failures).toEqual([
    expect.stringContaining('did not answer within'),
    expect.stringContaining('could not be reached'),
    expect.stringContaining('could not be reached'),
  ])
})

test('a full queue keeps the newest hundred alerts', async () => {
  const { url, bodies } = await receiver((_, response) => response.writeHead(204).end())
  const webhook = createAlertWebhook({ url: () => url, onFailure: () => undefined })
  for (let count = 1; count <= 300; count++) webhook.send({ ...alert, count })
  await webhook.idle()
  expect(bodies.length).toBeLessThanOrEqual(101)
  expect(bodies.at(-1)).toMatchObject({ count: 300 })
})
