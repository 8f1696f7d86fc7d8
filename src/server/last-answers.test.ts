import { afterEach, describe, expect, test } from 'vitest'
import type { FetchHandler } from '../frameworks/node-bridge.ts'
import { createLastAnswers } from './last-answers.ts'
import { type HttpServer, type ServeHttpOptions, serveHttp } from './serve-http.ts'

const servers: HttpServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close(0)
})

async function serve(handler: FetchHandler, options: Partial<ServeHttpOptions> = {}): Promise<HttpServer> {
  const server = await serveHttp({ handler, port: 0, host: '127.0.0.1', ...options })
  servers.push(server)
  return server
}

const never = () => new Promise<Response>(() => {})
const PENDING = {
  ...{ type: 'Error', code: 'SETTLEMENT_PENDING', httpStatus: 503, retryable: true },
  message:
    'The server is stopping; what became of this request is not known yet. If it carried a payment, send the same payload again; do not sign a new one. If it is paid with credits, send it again with the same Idempotency-Key, which is debited once; without a key it would be another call.',
}

describe('a request that outlasts the grace period of a server', () => {
  test('is answered 503 before it is cut: the money may have moved, and the buyer must not sign again', async () => {
    let answer = (_: Response) => {}
    let fail = (_: Error) => {}
    const asked: string[] = []
    const errors: unknown[] = []
    const left: number[] = []
    const handler: FetchHandler = ({ url }) => {
      asked.push(url)
      return new Promise<Response>((resolve, reject) => {
        if (url.endsWith('/fails')) fail = reject
        else answer = resolve
      })
    }
    const onError = (error: unknown) => void errors.push(error)
    const server = await serve(handler, { onError, onLeftOpen: (count) => void left.push(count) })
    const answers = [
      fetch(server.url, { method: 'POST', body: 'x', headers: { 'payment-signature': 'abc' } }),
      fetch(`${server.url}/fails`),
    ]
    await expect.poll(() => asked).toHaveLength(2)
    const closed = server.close(600)
    for (const response of await Promise.all(answers)) {
      expect(response.status).toBe(503)
      expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      expect(response.headers.get('connection')).toBe('close')
      expect(response.headers.get('cache-control')).toContain('no-store')
      expect(await response.json()).toMatchObject(PENDING)
    }
    expect(left).toEqual([2])
    // The handlers have the rest of the grace period; what they answer goes nowhere, and what they throw is reported.
    let cancelled = false
    const cancel = () => {
      cancelled = true
    }
    answer(new Response(new ReadableStream({ cancel })))
    fail(new Error('too late'))
    await closed
    await expect.poll(() => cancelled).toBe(true)
    expect(errors).toEqual([new Error('too late')])
  })

  test('has all of it but the last quarter of a second: an answer that is thrown away may be paid for', async () => {
    const asked: string[] = []
    let closeBegan = () => {}
    const closing = new Promise<void>((resolve) => {
      closeBegan = resolve
    })
    const server = await serve(async ({ url }) => {
      asked.push(url)
      if (!url.endsWith('/late')) return never()
      await closing
      // Node runs timers in the order in which they are due, also where the machine was busy meanwhile.
      return new Promise((resolve) => setTimeout(() => resolve(new Response('bought')), 1_100))
    })
    const [late, open] = [fetch(`${server.url}/late`), fetch(server.url)]
    await expect.poll(() => asked).toHaveLength(2)
    closeBegan()
    const closed = server.close(1_500)
    const answers = await Promise.all([late, open])
    expect(answers.map(({ status }) => status)).toEqual([200, 503])
    expect(await answers[0].text()).toBe('bought')
    await closed
  })

  test('gets problem details where it pays by MPP, and is cut where its answer has begun', async () => {
    const begun = new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('begun')) })
    let asked = false
    const server = await serve(({ url }) => {
      if (url.endsWith('/stream')) return new Response(begun)
      asked = true
      return never()
    })
    const stream = await fetch(`${server.url}/stream`)
    const paying = fetch(server.url, { headers: { authorization: 'Payment id="abc"' } })
    await expect.poll(() => asked).toBe(true)
    const [closed, read] = [server.close(400), stream.text()]
    await expect(read).rejects.toThrow()
    const response = await paying
    expect([response.status, response.headers.get('content-type')]).toEqual([503, 'application/problem+json'])
    await closed
  })

  test('leaves no word where all are answered in time', async () => {
    const left: number[] = []
    const server = await serve(async () => new Response('in time'), { onLeftOpen: (n) => void left.push(n) })
    await (await fetch(server.url)).text()
    await server.close(400)
    expect(left).toEqual([])
  })
})

test('a request that arrives after the last answers is not begun', async () => {
  let asked = 0
  const answers = createLastAnswers(() => {
    asked += 1
    return never()
  })
  const open = answers.handler(new Request('http://x/'))
  expect(answers.answerOpen()).toHaveLength(1)
  expect((await open).status).toBe(503)
  expect((await answers.handler(new Request('http://x/'))).status).toBe(503)
  expect(answers.answerOpen()).toHaveLength(0)
  expect(asked).toBe(1)
})
