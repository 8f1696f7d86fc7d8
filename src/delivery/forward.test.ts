import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import type { Forwarded, RouteCall } from '../ports.ts'
import { createBackendPool } from './backend-pool.ts'
import { createForward } from './forward.ts'

const call = (change: Partial<RouteCall> = {}): RouteCall => ({
  method: 'GET',
  path: '/free?x=1',
  headers: {},
  body: null,
  ...change,
})
const closing: Array<() => Promise<unknown> | unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function forwardTo(
  listener: RequestListener,
  { secret = null as string | null, timeoutMs = 2000 } = {},
) {
  const server = createServer(listener)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const backendUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`
  const pool = createBackendPool({ baseUrl: backendUrl, timeoutMs })
  closing.push(pool.close, () => server.close().closeAllConnections())
  const forward = createForward({ pool, secret, timeoutMs, backendUrl, baseUrl: 'https://pay.example/base' })
  return { forward, backendUrl, pool }
}

function response(forwarded: Forwarded): Response {
  if (!(forwarded instanceof Response)) throw new Error(forwarded.reason)
  return forwarded
}

test('status, headers and body are passed through, except headers of one connection', async () => {
  const { forward } = await forwardTo((_request, answer) => {
    answer.writeHead(
      418,
      [
        ['x-own', '1'],
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
        ['connection', 'close, x-hop'],
        ['x-hop', '1'],
        ['content-encoding', 'gzip'],
      ].flat(),
    )
    answer.end('not even gzip')
  })
  const answer = response(await forward(call({ headers: { 'accept-encoding': 'gzip' } })))
  expect(answer.status).toBe(418)
  const { date: _date, ...headers } = Object.fromEntries(answer.headers)
  expect(headers).toEqual({ 'x-own': '1', 'set-cookie': 'b=2', 'content-encoding': 'gzip' })
  expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  expect(await answer.text()).toBe('not even gzip')
})

test('the backend gets the call and, if there is a verified buyer, who it is', async () => {
  const seen: IncomingHttpHeaders[] = []
  const { forward } = await forwardTo(
    (request, answer) => {
      seen.push({ ...request.headers, target: `${request.method} ${request.url}` })
      answer.end()
    },
    { secret: 's' },
  )
  const headers = { authorization: 'Bearer x', 'accept-encoding': 'br', 'x-svc-payer': '0xevil' }
  await forward(call({ method: 'DELETE', headers }))
  await forward(call({ headers }), { payer: '0x1', planId: 'basic', challengeId: 'http-1', txHash: '0x2' })
  const [free, guarded] = seen
  expect(free).toMatchObject({
    target: 'DELETE /api/free?x=1',
    authorization: 'Bearer x',
    'accept-encoding': 'br',
  })
  expect(Object.keys(free!).filter((name) => name.startsWith('x-svc'))).toEqual([])
  expect(guarded).toMatchObject({
    'x-svc-payer': '0x1',
    'x-svc-plan-id': 'basic',
    'x-svc-challenge-id': 'http-1',
    'x-svc-tx-hash': '0x2',
    'x-svc-signature': expect.stringMatching(/^t=\d+,v1=[0-9a-f]{64}$/),
  })
  expect(guarded).not.toHaveProperty('authorization')
})

test.each([204, 304, 200])('%i without a body', async (status) => {
  const { forward } = await forwardTo((_request, answer) => answer.writeHead(status).end())
  const answer = response(await forward(call()))
  expect([answer.status, await answer.text()]).toEqual([status, ''])
})

const REASON = "the backend's answer (status 700) is not valid HTTP"

test.each([
  ['a status that Fetch does not know', 'HTTP/1.1 700 Odd'],
  ['a status without a body, which has an endless one', 'HTTP/1.1 205 Reset Content'],
])('%s keeps no connection', async (_what, statusLine) => {
  let closed: (value: unknown) => void = () => {}
  const over = new Promise((resolve) => {
    closed = resolve
  })
  const { forward, pool } = await forwardTo(({ socket }) => {
    socket.once('close', () => closed('closed')).on('error', () => {})
    socket.write(`${statusLine}\r\ncontent-length: 9000000\r\n\r\n${'x'.repeat(1_000_000)}`)
  })
  const forwarded = await forward(call())
  if (forwarded instanceof Response) expect(forwarded.status).toBe(205)
  else expect(forwarded).toEqual({ status: 502, reason: REASON })
  expect(await over).toBe('closed')
  expect(pool.streams.size).toBe(0)
})

test('addresses of the backend itself point to the gateway; any other is unchanged', async () => {
  let location = ''
  const { forward, backendUrl } = await forwardTo((_request, answer) =>
    answer
      .writeHead(302, {
        location,
        'content-location': location,
        link: `<${location}>; rel="next", </x>; rel=self`,
      })
      .end(),
  )
  for (const [said, heard] of [
    [`${backendUrl}/x/?a=1`, 'https://pay.example/base/x/?a=1'],
    [backendUrl, 'https://pay.example/base'],
    [`${backendUrl}?a=1`, 'https://pay.example/base?a=1'],
    [`${backendUrl.slice('http:'.length)}/x`, 'https://pay.example/base/x'],
    [`${backendUrl}1/x`, `${backendUrl}1/x`],
    ['/x/', '/x/'],
    ['https://elsewhere.example/', 'https://elsewhere.example/'],
  ]) {
    location = said!
    const { headers } = response(await forward(call()))
    expect(headers.get('location')).toBe(heard)
    expect(headers.get('content-location')).toBe(heard)
    expect(headers.get('link')).toBe(`<${heard}>; rel="next", </x>; rel=self`)
  }
})

test('an answer is streamed, and is cancelled at the backend if the client leaves', async () => {
  let ended: (value: unknown) => void = () => {}
  const over = new Promise((resolve) => {
    ended = resolve
  })
  const { forward, pool } = await forwardTo((_request, answer) => {
    answer.once('close', () => ended('closed')).write('first')
  })
  const reader = response(await forward(call())).body!.getReader()
  expect(Buffer.from((await reader.read()).value!).toString()).toBe('first')
  expect(pool.streams.size).toBe(1)
  await reader.cancel()
  expect(await over).toBe('closed')
  expect(pool.streams.size).toBe(0)
})

test('an endless stream does not keep the gateway from closing', async () => {
  const { forward, pool } = await forwardTo((_request, answer) => answer.write('first'))
  const reader = response(await forward(call())).body!.getReader()
  await reader.read()
  const rest = reader.read().catch(() => 'broken off')
  await pool.close()
  expect(await rest).toBe('broken off')
  closing.splice(0, 1)
})

test('finished calls leak no memory', async () => {
  let status = 200
  const { forward, pool } = await forwardTo((_request, answer) => answer.writeHead(status).end())
  for (status of [200, 204, 404]) {
    await response(await forward(call())).text()
    await new Promise(setImmediate)
    expect(pool.streams.size).toBe(0)
  }
})

test('no answer in time is 504, and a backend that is down is 502', async () => {
  const { forward } = await forwardTo(() => {}, { timeoutMs: 50 })
  expect(await forward(call())).toEqual({ status: 504, reason: 'the backend did not answer within 0.05 s' })
  const dead = await forwardTo((request) => request.socket.destroy())
  expect(await dead.forward(call())).toEqual({ status: 502, reason: 'the backend cannot be reached' })
})

test('a slow stream may take longer than the timeout, which is for the headers', async () => {
  const { forward } = await forwardTo(
    (_request, answer) => {
      let count = 0
      const timer = setInterval(() => {
        answer.write('x')
        if (++count === 5) {
          clearInterval(timer)
          answer.end()
        }
      }, 40)
    },
    { timeoutMs: 150 },
  )
  expect(await response(await forward(call())).text()).toBe('xxxxx')
})
