import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { sampleDialects } from '../../test/transports/sample-x402.ts'
import { createHttpHandler } from '../transports/http/create-http-handler.ts'
import { toResponse } from '../transports/http/reply.ts'
import { requestTarget } from '../transports/http/request-target.ts'
import { bridgeToNode, type FetchHandler, type NodeBridgeOptions } from './node-bridge.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

async function serve(handler: FetchHandler, options: NodeBridgeOptions = {}) {
  const bridge = bridgeToNode(handler, options)
  const work: unknown[] = []
  const server = createServer((incoming, outgoing) => void work.push(bridge(incoming, outgoing)))
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, done: () => Promise.all(work) }
}

/** Sends raw bytes and reads until the server closes. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    received += chunk
  })
  socket.write(text)
  await once(socket, 'close')
  return received
}

describe('the request', () => {
  test('is a Request like any other', async () => {
    let seen: Record<string, unknown> = {}
    const { url } = await serve(async (request) => {
      const copy = request.clone()
      seen = {
        isRequest: request instanceof Request,
        method: request.method,
        url: request.url,
        header: request.headers.get('X-Test'),
        body: await request.json(),
        copied: await copy.text(),
        aborted: request.signal.aborted,
        redirect: request.redirect,
        used: request.bodyUsed,
      }
      return new Response(null, { status: 204 })
    })
    await fetch(`${url}/a/b?c=1`, {
      method: 'PUT',
      headers: { 'x-test': 'ü'.normalize('NFC') },
      body: '{"d":2}',
    })
    expect(seen).toEqual({
      isRequest: true,
      method: 'PUT',
      url: 'http://localhost/a/b?c=1',
      header: 'ü',
      body: { d: 2 },
      copied: '{"d":2}',
      aborted: false,
      redirect: 'follow',
      used: true,
    })
  })

  test('host names of the client never enter its URL', async () => {
    const { port } = await serve(async ({ url }) => new Response(url), { origin: 'https://api.example.com' })
    for (const target of ['/x', 'http://evil.example/x', '//evil.example/x']) {
      const answer = await exchange(port, `GET ${target} HTTP/1.1\r\nhost: evil\r\nconnection: close\r\n\r\n`)
      expect(answer).toContain('https://api.example.com/')
    }
  })

  test.each([
    ['http://evil.example/x/../admin?a=%2e', '/x/../admin?a=%2e'],
    ['http://evil.example/%2e%2e/admin', '/%2e%2e/admin'],
    ['http://evil.example?a', '/?a'],
    ['http://evil.example', '/'],
  ])('the path of %s is taken as it was sent', async (target, path) => {
    const { port } = await serve(async (request) => new Response(`<${requestTarget(request)}>`))
    const answer = await exchange(port, `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    expect(answer).toContain(`<${path}>`)
  })

  test('a header given twice arrives as a list', async () => {
    const { port } = await serve(async ({ headers }) => new Response(headers.get('payment-signature')))
    const answer = await exchange(
      port,
      'GET / HTTP/1.1\r\nhost: x\r\nPayment-Signature: one\r\npayment-signature: two\r\nconnection: close\r\n\r\n',
    )
    expect(answer).toContain('one, two')
  })

  test('a large body flows at the pace of its reader', async () => {
    const { url } = await serve(async (request) => {
      let bytes = 0
      for await (const chunk of request.body!) bytes += chunk.byteLength
      return new Response(String(bytes))
    })
    const answer = await fetch(url, { method: 'POST', body: new Uint8Array(5_000_000) })
    expect(await answer.text()).toBe('5000000')
  })

  test('X-Forwarded-For counts only behind a trusted proxy, and from the right', async () => {
    const address: FetchHandler = async (_request, peer) => new Response(peer?.address)
    const headers = { 'x-forwarded-for': '6.6.6.6, 203.0.113.7, 10.0.0.1' }
    const asked = async (trustProxy: boolean | number) =>
      (await fetch((await serve(address, { trustProxy })).url, { headers })).text()
    expect(await asked(false)).toBe('127.0.0.1')
    expect(await asked(true)).toBe('10.0.0.1')
    expect(await asked(2)).toBe('203.0.113.7')
  })

  test.each([
    ['203.0.113.7:50123', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['[::ffff:203.0.113.7]:50123', '203.0.113.7'],
    ['[2001:db8::1]:50123', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
  ])(
    'a proxy that says %s means %s: with its port every connection would be another address',
    async (said, meant) => {
      const address: FetchHandler = async (_request, peer) => new Response(peer?.address)
      const { url } = await serve(address, { trustProxy: true })
      expect(await (await fetch(url, { headers: { 'x-forwarded-for': said } })).text()).toBe(meant)
    },
  )
})

describe('the response', () => {
  test('streams as it is made', async () => {
    const { url } = await serve(async () => {
      let step: (text: string) => void = () => {}
      const body = new ReadableStream({
        start(controller) {
          step = (text) => controller.enqueue(new TextEncoder().encode(text))
          step('first')
        },
        cancel() {},
      })
      return new Response(body, {
        headers: [
          ['set-cookie', 'a=1'],
          ['set-cookie', 'b=2'],
        ],
      })
    })
    const answer = await fetch(url)
    const reader = answer.body!.getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('first')
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    await reader.cancel()
  })

  test('a stream whose reader left is cancelled', async () => {
    let cancelled: () => void = () => {}
    const gone = new Promise<void>((resolve) => {
      cancelled = resolve
    })
    const { url } = await serve(
      async () =>
        new Response(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array(1)), cancel: cancelled })),
    )
    const answer = await fetch(url)
    await answer.body!.cancel()
    await gone
  })

  test('a stream that breaks cuts the connection instead of ending well', async () => {
    const errors: unknown[] = []
    const broken = new ReadableStream({
      pull(controller) {
        controller.error(new Error('backend died'))
      },
    })
    const { url } = await serve(async () => new Response(broken), { onError: (error) => errors.push(error) })
    await expect(fetch(url).then((answer) => answer.text())).rejects.toThrow()
    expect(errors).toHaveLength(1)
  })

  test('a handler that throws is 500 without its message', async () => {
    const errors: unknown[] = []
    const fault = new Error('secret')
    const { url } = await serve(() => Promise.reject(fault), { onError: (error) => errors.push(error) })
    const answer = await fetch(url)
    expect(answer.status).toBe(500)
    expect(await answer.text()).not.toContain('secret')
    expect(errors).toEqual([fault])
  })
})

test('a client that disconnects does not stop the handler, nor its signal', async () => {
  let finish: () => void = () => {}
  const mayFinish = new Promise<void>((resolve) => {
    finish = resolve
  })
  let enter: () => void = () => {}
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  let aborted: boolean | undefined
  const { port, done } = await serve(async (request) => {
    const { signal } = request
    enter()
    await mayFinish
    aborted = signal.aborted
    return new Response('granted')
  })
  const socket = connect(port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}')
  await entered
  socket.destroy()
  await once(socket, 'close')
  finish()
  await done()
  expect(aborted).toBe(false)
})

test('clients that leave at any moment harm nobody, also where the answer is there at once', async () => {
  const faults: unknown[] = []
  const options = { onError: (error: unknown) => void faults.push(error) }
  const { port, url, done } = await serve(() => new Response('x'.repeat(100_000)), options)
  const plain = await serve(
    (request) => toResponse({ status: 402, headers: {}, body: 'pay' }, request),
    options,
  )
  for (const target of [port, plain.port])
    for (let index = 0; index < 50; index++) {
      const socket = connect(target, '127.0.0.1')
      await once(socket, 'connect')
      socket.write(
        'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n'.slice(0, index % 2 === 0 ? undefined : -3),
      )
      if (index % 3 > 0) socket.write('{}')
      if (index % 5 > 0) await new Promise((soon) => setImmediate(soon))
      socket.resetAndDestroy()
    }
  expect((await fetch(url)).status).toBe(200)
  expect((await fetch(plain.url)).status).toBe(402)
  await Promise.all([done(), plain.done()])
  expect(faults).toEqual([])
})

describe('together with the gateway', () => {
  const { fetch: handler } = createHttpHandler({
    engine: {
      offer: ({ planId = '' }) => ({
        kind: 'challenge',
        offer: {
          ...{ kind: 'plan', itemId: planId, resourceId: 'default', resource: null, description: '' },
          ...{ challengeId: 'http-1', requestId: 'r', rails: [], salt: 's', expiresAt: 0, message: planId },
        },
      }),
      purchase: () => Promise.reject(new Error('an offer is made without it')),
      status: async () => undefined,
    },
    discovery: {
      agentName: '',
      description: '',
      walletAddress: '',
      network: '',
      chainId: 1,
      asset: '',
      plans: [],
      routes: [],
    },
    dialects: sampleDialects('http://localhost'),
    baseUrl: 'http://localhost',
    version: '1',
    networkIds: [''],
    storeName: '',
    limits: { maxBodyBytes: 1000, requestTimeoutMs: 1000 },
    uptimeSeconds: () => 0,
    ready: async () => ({ ok: true, checks: {} }),
  })
  const ask = (url: string, init: RequestInit) => fetch(`${url}/x402/access`, { method: 'POST', ...init })

  test('a 402 comes through whole, also when code in between looks at it', async () => {
    const watched: FetchHandler = async (request, peer) => {
      const response = await handler(request, peer)
      expect(response).toBeInstanceOf(Response)
      expect(response.ok).toBe(false)
      response.headers.set('x-seen', String((await response.clone().text()).length))
      return response
    }
    const body = '{"planId":"ü"}'.replace('ü', 'basic')
    const plain = await ask((await serve(handler)).url, { body })
    const seen = await ask((await serve(watched)).url, { body })
    expect([plain.status, seen.status]).toEqual([402, 402])
    const text = await plain.text()
    expect(JSON.parse(text)).toMatchObject({ error: 'basic', extensions: { svc: {} } })
    expect(await seen.text()).toBe(text)
    expect(seen.headers.get('x-seen')).toBe(String(text.length))
    expect(plain.headers.get('connection')).toBe('keep-alive')
  })

  test('a payment given twice and a body over the limit are refused', async () => {
    const { url, port } = await serve(handler)
    const twice = 'payment-signature: e30=\r\npayment-signature: e30=\r\n'
    const answer = await exchange(
      port,
      `POST /x402/access HTTP/1.1\r\nhost: x\r\n${twice}connection: close\r\ncontent-length: 0\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*more than once/)
    expect((await ask(url, { body: 'x'.repeat(2000) })).status).toBe(413)
    const chunked = new Blob(['x'.repeat(2000)]).stream()
    expect((await ask(url, { body: chunked, duplex: 'half' })).status).toBe(413)
  })

  test('HEAD and preflight have no body', async () => {
    const { url } = await serve(handler)
    const head = await fetch(`${url}/discover`, { method: 'HEAD' })
    const preflight = await fetch(`${url}/x402/access`, { method: 'OPTIONS' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect([preflight.status, await preflight.text()]).toEqual([204, ''])
  })
})
