import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterEach, expect, test } from 'vitest'
import { withResolvers } from '../engine/signals.ts'
import type { CapturedAnswer } from '../transports/http/charged.ts'
import { captureAnswer } from './capture-answer.ts'

const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

/** Serves one handler whose answer is captured. What goes out is up to the test. */
async function capturing(handler: (response: ServerResponse) => unknown, maxBytes = 1000) {
  const captured = withResolvers<CapturedAnswer>()
  const out = withResolvers<Response>()
  const seen: { response?: ServerResponse; finishes: number } = { finishes: 0 }
  const server = createServer((_request, response) => {
    seen.response = response
    response.setHeader('x-standing', 'before').setHeader('cdn-cache-control', 'max-age=60')
    const finish = (answer: CapturedAnswer) => {
      seen.finishes++
      captured.resolve(answer)
      return out.promise
    }
    captureAnswer(response, { maxBytes, finish, response: out.promise }, response.getHeaders())
    handler(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => server.close().closeAllConnections())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { asked: fetch(url), captured: captured.promise, send: out.resolve, seen }
}

const text = ({ body }: CapturedAnswer) => Buffer.from(body ?? '').toString()

test('the answer is collected whole, and no byte goes out before it may', async () => {
  const { asked, captured, send, seen } = await capturing((response) => {
    response.setHeader('x-own', ['a', 'b'])
    response.writeHead(201, 'Created', { 'content-type': 'text/plain', 'content-length': 14 })
    expect(response.headersSent).toBe(true)
    expect(response.write('one ')).toBe(true)
    response.write('74776f20', 'hex')
    response.write(Buffer.from('three '))
    response.end()
    response.end('four')
    expect(response.writableEnded).toBe(true)
  })
  const answer = await captured
  expect([answer.status, text(answer)]).toEqual([201, 'one two three '])
  expect(answer.headers).toEqual({
    'x-own': ['a', 'b'],
    'content-type': 'text/plain',
    'content-length': '14',
  })
  expect(seen.response!.socket!.bytesWritten).toBe(0)
  send(new Response('paid', { status: 201, headers: { 'payment-response': 'yes' } }))
  const got = await asked
  expect([got.status, await got.text(), got.headers.get('content-length')]).toEqual([201, 'paid', '4'])
  expect([got.headers.get('payment-response'), got.headers.get('x-standing')]).toEqual(['yes', 'before'])
  expect(got.headers.get('cdn-cache-control')).toBeNull()
})

test('of an answer that is not paid nothing goes out, not even a header', async () => {
  const { asked, captured, send } = await capturing((response) =>
    response.writeHead(200, ['x-own', 'secret', 'etag', 'secret']).end('secret'),
  )
  expect((await captured).headers).toEqual({ 'x-own': 'secret', etag: 'secret' })
  send(new Response(null, { status: 503 }))
  const got = await asked
  expect([got.status, await got.text()]).toEqual([503, ''])
  expect(JSON.stringify([...got.headers])).not.toContain('secret')
})

test('streams and callbacks end as ever', async () => {
  const ended: string[] = []
  const { asked, captured, send } = await capturing(async (response) => {
    response.write('a', () => ended.push('written'))
    await pipeline(Readable.from(['b', 'c']), response)
    ended.push('piped')
  })
  expect(text(await captured)).toBe('abc')
  send(new Response('out'))
  expect(await (await asked).text()).toBe('out')
  await expect.poll(() => ended).toEqual(['written', 'piped'])
})

test('a handler that is late writes to nowhere, and throws nothing', async () => {
  const { asked, send, seen } = await capturing((response) => response.write('begun'))
  send(new Response('too late', { status: 504 }))
  expect(await (await asked).text()).toBe('too late')
  const { response } = seen
  expect(() => {
    response!.setHeader('x-own', 'late').writeHead(200).write('late')
    response!.end('late')
  }).not.toThrow()
  expect(seen.finishes).toBe(0)
})

test('more than the maximum is handed over at once, and the rest is not kept', async () => {
  const { asked, captured, send, seen } = await capturing((response) => {
    for (let at = 0; at < 10; at++) response.write('x'.repeat(400))
    response.end()
  })
  expect(text(await captured).length).toBe(1200)
  send(new Response('too large', { status: 502 }))
  expect((await asked).status).toBe(502)
  expect(seen.finishes).toBe(1)
})

test('middleware behind us that waits for the head is called before the answer is complete', async () => {
  const { asked, captured, send } = await capturing((response) => {
    const { writeHead } = response
    response.writeHead = ((status: number) => {
      response.setHeader('x-late', 'added')
      return writeHead.call(response, status)
    }) as never
    response.end('answer')
  })
  expect((await captured).headers).toEqual({ 'x-late': 'added' })
  send(new Response('out'))
  expect(await (await asked).text()).toBe('out')
})

test('a client that left is no fault', async () => {
  const { asked, captured, send, seen } = await capturing((response) => response.end('answer'))
  const cut = expect(asked).rejects.toThrow()
  await captured
  seen.response!.destroy()
  send(new Response('out'))
  await cut
  await expect.poll(() => seen.response!.closed).toBe(true)
})
