import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { planOrder } from '../../test/delivery/sample-orders.ts'
import { createApiDelivery } from './issue-by-api.ts'
import { createSeal } from './seal.ts'
import { parseSecretKeys } from './secret-keys.ts'

const order = { ...planOrder, clientAgentId: 'agent://x' }
const plan = { planId: 'pro', unitAmount: '$1.00', description: 'All of it' }

interface Seen {
  request: IncomingMessage
  body: string
}
const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  }
})

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/issue?tenant=1`
}

/** A token API that answers each call with the next of these, and then always with the last. */
async function tokenApi(...answers: Array<(response: ServerResponse) => void>) {
  const seen: Seen[] = []
  const url = await listen(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push({ request, body })
    answers[Math.min(seen.length, answers.length) - 1]!(response)
  })
  return { url, seen }
}

const json =
  (body: unknown, status = 200) =>
  (response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
const status =
  (code: number, headers = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(code, headers).end()
const hang = () => undefined

function delivering(url: string, { secret = null as string | null, timeoutMs = 5000 } = {}) {
  const alerts: string[] = []
  const delivery = createApiDelivery({
    url,
    secret,
    plans: [plan],
    seal: createSeal(parseSecretKeys('k'.repeat(32)).sealing),
    places: {
      resourceEndpoint: 'https://gate.example/r/{resourceId}',
      explorerTxUrl: () => 'https://scan.example/tx/',
    },
    alerts: { raise: (_kind, message) => void alerts.push(message) },
    timeoutMs,
    retryDelaysMs: [1, 1],
  })
  return { delivery, alerts }
}

async function failure(url: string, options = {}) {
  const delivered = await delivering(url, options).delivery.deliver(order)
  return delivered.kind === 'failed' ? delivered.reason : 'delivered'
}

describe('createApiDelivery', () => {
  test('the request is the documented one', async () => {
    const { url, seen } = await tokenApi(json({ token: 't' }, 201))
    expect((await delivering(url, { secret: 'shh' }).delivery.deliver(order)).kind).toBe('delivered')
    const { request, body } = seen[0]!
    expect(request.method).toBe('POST')
    expect(request.url).toBe('/issue?tenant=1')
    expect(request.headers).toMatchObject({
      'content-type': 'application/json',
      'idempotency-key': 'http-abc',
      authorization: 'Bearer shh',
    })
    expect(JSON.parse(body)).toEqual({
      challengeId: 'http-abc',
      requestId: 'req-1',
      planId: 'pro',
      resourceId: 'weather',
      walletAddress: order.payer,
      txHash: order.txHash,
      amount: '1000000',
      network: 'eip155:84532',
      plan,
      clientAgentId: 'agent://x',
    })
  })

  test('without a secret no authorization is sent', async () => {
    const { url, seen } = await tokenApi(json({ token: 't' }))
    await delivering(url).delivery.deliver(order)
    expect(seen[0]!.request.headers.authorization).toBeUndefined()
  })

  test('the answer becomes the grant; its tokenType is ignored', async () => {
    const answer = {
      accessToken: 'a',
      tokenType: 'MAC',
      expiresAt: '2030-01-01T00:00:00Z',
      resourceEndpoint: 'https://api.example/v1',
      type: 'Evil',
      challengeId: 'http-other',
    }
    const { url } = await tokenApi(json(answer))
    const { delivery } = delivering(url)
    const delivered = await delivery.deliver(order)
    if (delivered.kind === 'failed') throw new Error(delivered.reason)
    expect(delivery.instant).toBe(false)
    expect(delivered.sealed).not.toContain('api.example')
    expect(await delivery.open(order, delivered.sealed)).toEqual({
      type: 'AccessGrant',
      challengeId: 'http-abc',
      requestId: 'req-1',
      accessToken: 'a',
      tokenType: 'Bearer',
      expiresAt: '2030-01-01T00:00:00.000Z',
      resourceEndpoint: 'https://api.example/v1',
      resourceId: 'weather',
      planId: 'pro',
      txHash: order.txHash,
      explorerUrl: `https://scan.example/tx/${order.txHash}`,
    })
  })

  test.each([500, 502, 503, 599])(
    '%i is tried twice more, each time under the same idempotency key',
    async (code) => {
      const { url, seen } = await tokenApi(status(code), status(code), json({ token: 't' }))
      expect(await failure(url)).toBe('delivered')
      expect(seen.map(({ request }) => request.headers['idempotency-key'])).toEqual(Array(3).fill('http-abc'))
      expect(new Set(seen.map(({ body }) => body)).size).toBe(1)
    },
  )

  test('a third 500 is final', async () => {
    const { url, seen } = await tokenApi(status(500))
    expect(await failure(url)).toBe('the token API answered 500 (3 tries)')
    expect(seen).toHaveLength(3)
  })

  test.each([400, 401, 404, 409, 429])('%i is final at once', async (code) => {
    const { url, seen } = await tokenApi(status(code))
    expect(await failure(url)).toBe(`the token API answered ${code}`)
    expect(seen).toHaveLength(1)
  })

  test('an API that hangs is given up three times, in bounded time', async () => {
    const { url, seen } = await tokenApi(hang)
    expect(await failure(url, { timeoutMs: 50 })).toBe('the token API did not answer within 0.05 s (3 tries)')
    expect(seen).toHaveLength(3)
  })

  test('an API that hangs once is tried again and delivers', async () => {
    const { url } = await tokenApi(hang, json({ token: 't' }))
    expect(await failure(url, { timeoutMs: 300 })).toBe('delivered')
  })

  test('a body that never ends is cut by the same time limit', async () => {
    const { url } = await tokenApi((response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const drip = setInterval(() => response.write(' '), 5)
      response.on('close', () => clearInterval(drip))
    })
    expect(await failure(url, { timeoutMs: 100 })).toContain('did not answer within 0.1 s')
  })

  test('a huge body is cut at 64 KiB and not downloaded', async () => {
    let written = 0
    const { url, seen } = await tokenApi((response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const chunk = Buffer.alloc(64 * 1024, ' ')
      const more = () => {
        if (response.destroyed || written > 1024 * 1024 * 1024) return
        written += chunk.length
        response.write(chunk, more)
      }
      more()
    })
    expect(await failure(url)).toBe('the token API answered more than 65536 bytes')
    expect(seen).toHaveLength(1)
    expect(written).toBeLessThan(32 * 1024 * 1024)
  })

  test('a small body that unpacks to a huge one is cut as well', async () => {
    const packed = gzipSync(Buffer.alloc(8 * 1024 * 1024, ' '))
    const { url } = await tokenApi(
      (response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed),
    )
    expect(await failure(url)).toBe('the token API answered more than 65536 bytes')
  })

  test('an answer of just under 64 KiB is taken', async () => {
    const { url } = await tokenApi(json({ token: 'x'.repeat(65_536 - 12) }))
    expect(await failure(url)).toBe('delivered')
  })

  test.each([301, 302, 303, 307, 308])('a %i redirect is not followed', async (code) => {
    const elsewhere = await tokenApi(json({ token: 'stolen' }))
    const { url, seen } = await tokenApi(status(code, { location: elsewhere.url }))
    expect(await failure(url, { secret: 'shh' })).toBe(`the token API answered ${code}`)
    expect(seen).toHaveLength(1)
    expect(elsewhere.seen).toHaveLength(0)
  })

  test.each(['', 'null', '"token"', '[]', '<html>ok</html>', '{"token":', '{"token":7}', '{}'])(
    'the answer %j fails the delivery and is not asked for again',
    async (text) => {
      const { url, seen } = await tokenApi((response) => void response.writeHead(200).end(text))
      expect(await failure(url)).toContain('the token API gave an unusable answer')
      expect(seen).toHaveLength(1)
    },
  )

  test('a connection that breaks is tried again', async () => {
    const { url, seen } = await tokenApi((response) => void response.destroy(), json({ token: 't' }))
    expect(await failure(url)).toBe('delivered')
    expect(seen).toHaveLength(2)
  })

  test('if the API is down, the operator is told why, and the buyer only that it failed', async () => {
    const url = await listen(() => undefined)
    await new Promise((closed) => servers.pop()!.close(closed))
    const { delivery, alerts } = delivering(url)
    const reason = 'the token API cannot be reached (3 tries)'
    expect(await delivery.deliver(order)).toEqual({ kind: 'failed', reason })
    expect(alerts).toEqual([expect.stringContaining('ECONNREFUSED')])
  })

  test('no failure repeats the secret or what the API said', async () => {
    for (const answer of [
      json({ error: 'hunter2' }, 400),
      json({ error: 'hunter2' }, 500),
      json({ token: ['hunter2'] }),
    ]) {
      const { url } = await tokenApi(answer)
      const { delivery, alerts } = delivering(url, { secret: 'shh-shh' })
      expect(JSON.stringify([await delivery.deliver(order), alerts])).not.toMatch(/hunter2|shh-shh/)
    }
  })

  test('a credential that cannot be decrypted is asked for again under the same key', async () => {
    const { url, seen } = await tokenApi(json({ token: 'again' }))
    expect((await delivering(url).delivery.open(order, 'unreadable')).accessToken).toBe('again')
    expect(seen[0]!.request.headers['idempotency-key']).toBe('http-abc')
  })

  test('it is never called for routes, but still for a plan that was removed from the catalog', async () => {
    const { url, seen } = await tokenApi(json({ token: 't' }))
    const { delivery } = delivering(url)
    expect((await delivery.deliver({ ...order, kind: 'route' })).kind).toBe('failed')
    expect(seen).toHaveLength(0)
    expect((await delivery.deliver({ ...order, itemId: 'gone' })).kind).toBe('delivered')
    expect(JSON.parse(seen[0]!.body)).toMatchObject({ planId: 'gone', plan: null })
  })
})
