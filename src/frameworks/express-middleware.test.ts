import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { createGzip, type Gzip } from 'node:zlib'
import express, { type RequestHandler } from 'express'
import { afterEach, expect, test } from 'vitest'
import { settledCalls } from '../../test/transports/sample-calls.ts'
import { toResponse } from '../transports/http/reply.ts'
import { payPerRequest } from './express.ts'

const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

async function urlOf(...handlers: RequestHandler[]): Promise<string> {
  const app = express().set('env', 'test')
  app.get('/weather', ...handlers)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`
}

type Write = (...args: unknown[]) => unknown
type Writer = Record<'writeHead' | 'write' | 'end' | 'on', Write>

/**
 * What the package compression does: it writes through a stream of its own, which begins with the head, and whoever waits for
 * more room is told by that stream alone.
 */
const compression: RequestHandler = (_req, res, next) => {
  const own = res as unknown as Writer
  const { writeHead, write, end, on } = own
  const waiting: Array<() => void> = []
  let gzip: Gzip | undefined
  const begin = (): Gzip => {
    const begun = createGzip()
    gzip = begun
    for (const listener of waiting) begun.on('drain', listener)
    begun.on('data', (chunk) => void (write.call(res, chunk) === false && begun.pause()))
    begun.on('end', () => end.call(res))
    on.call(res, 'drain', () => begun.resume())
    return begun
  }
  own.writeHead = (...args) => {
    res.setHeader('content-encoding', 'gzip')
    begin()
    return writeHead.apply(res, args)
  }
  const stream = (): Gzip => {
    if (!res.headersSent) res.writeHead(res.statusCode)
    return gzip as Gzip
  }
  own.write = (chunk) => stream().write(chunk)
  own.end = (chunk) => (chunk ? stream().end(chunk) : stream().end())
  own.on = (event, listener) => {
    if (event !== 'drain') return on.call(res, event, listener)
    if (gzip) gzip.on('drain', listener as () => void)
    else waiting.push(listener as () => void)
    return res
  }
  next()
}

/** What on-headers did before 1.1, which is in older releases of morgan, compression and express-session. */
const oldOnHeaders: RequestHandler = (_req, res, next) => {
  const writeHead = res.writeHead as unknown as Write
  const replaced = function (this: ServerResponse, status: number, headers?: object) {
    this.statusCode = status
    const pairs = Array.isArray(headers) ? headers : Object.entries(headers ?? {})
    for (const pair of pairs) res.setHeader(pair[0], pair[1])
    return writeHead.call(this, status)
  }
  res.writeHead = replaced as never
  next()
}

test.each([
  ['small pieces', 500],
  ['more than may be held', 90_000],
])('a prepaid call that streams %s behind compression comes whole', async (_what, size) => {
  const { gateway, finished } = settledCalls('prepaid')
  const pieces = Array.from({ length: 5 }, (_, at) => `piece ${at} ${'x'.repeat(size)}`)
  const url = await urlOf(compression, payPerRequest(gateway, 'weather'), (_req, res) => {
    Readable.from(pieces).pipe(res)
  })
  const answer = await fetch(url, { signal: AbortSignal.timeout(5000) })
  expect(await answer.text()).toBe(pieces.join(''))
  expect(finished).toEqual([200])
})

test('a 402 leaves whole where an old on-headers is in front', async () => {
  const { gateway } = settledCalls('paid')
  const headers = {
    'content-type': 'application/json',
    'payment-required': 'terms',
    'www-authenticate': 'a, b',
  }
  gateway.chargeRoute = async (request) => ({
    kind: 'respond',
    response: toResponse({ status: 402, headers, body: '{}' }, request),
  })
  const answer = await fetch(await urlOf(oldOnHeaders, payPerRequest(gateway, 'weather')))
  expect([answer.status, await answer.text()]).toEqual([402, '{}'])
  expect(Object.fromEntries(answer.headers)).toMatchObject({ ...headers, 'content-length': '2' })
})
