import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { UnavailableError } from '../errors.ts'
import { OversizeError } from './http-text.ts'
import { createRpc } from './rpc.ts'

type Call = { id: number; method: string; params: unknown[] }
type Answer = (calls: Call | Call[], response: ServerResponse) => void

const servers: Server[] = []
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

async function serve(answer: Answer, limits = { timeoutMs: 2_000, maxBytes: 10_000 }) {
  const bodies: Array<Call | Call[]> = []
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const calls = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
    bodies.push(calls)
    answer(calls, response)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/secret-key`
  return { rpc: createRpc(url, limits), bodies }
}

const echo = ({ id, method }: Call) => ({ jsonrpc: '2.0', id, result: method })

test('calls of one turn are sent as one batch, and answers in any order are matched to their calls', async () => {
  const { rpc, bodies } = await serve((calls, response) => {
    response.end(JSON.stringify((calls as Call[]).map(echo).reverse()))
  })
  expect(await Promise.all(['a', 'b', 'c'].map((method) => rpc.call(method, [])))).toEqual(['a', 'b', 'c'])
  expect(bodies).toHaveLength(1)
})

test('a single call is not wrapped in a batch', async () => {
  const { rpc, bodies } = await serve((call, response) => response.end(JSON.stringify(echo(call as Call))))
  expect(await rpc.call('a', [1])).toBe('a')
  expect(bodies[0]).toMatchObject({ method: 'a', params: [1] })
})

test('a node that accepts batches of two gets batches of two, and no larger ones afterwards', async () => {
  const { rpc, bodies } = await serve((calls, response) => {
    if (!Array.isArray(calls)) response.end(JSON.stringify(echo(calls)))
    else if (calls.length <= 2) response.end(JSON.stringify(calls.map(echo)))
    else
      response
        .writeHead(400)
        .end('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"batch too large"}}')
  })
  const methods = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  expect(await Promise.all(methods.map((method) => rpc.call(method, [])))).toEqual(methods)
  bodies.length = 0
  expect(await Promise.all(methods.map((method) => rpc.call(method, [])))).toEqual(methods)
  expect(bodies.every((body) => Array.isArray(body) && body.length === 2)).toBe(true)
})

test('attempt returns an error answer, and call reports it as unavailable', async () => {
  const { rpc } = await serve((call, response) => {
    const error = { code: 3, message: 'execution\nreverted', data: { data: '0xab' } }
    response.end(JSON.stringify({ jsonrpc: '2.0', id: (call as Call).id, error }))
  })
  expect(await rpc.attempt('eth_call', [])).toEqual({
    ok: false,
    error: { code: 3, message: 'execution reverted', data: '0xab' },
  })
  await expect(rpc.call('eth_call', [])).rejects.toThrow(UnavailableError)
})

test.each<[string, Answer]>([
  ['a server fault', (_, response) => response.writeHead(502).end('{"jsonrpc":"2.0","id":0,"result":"0x"}')],
  ['a web page', (_, response) => response.end('<html>')],
  ['JSON that is no answer', (_, response) => response.end('[1]')],
  ['an answer to something else', (_, response) => response.end('[{"jsonrpc":"2.0","id":7,"result":1}]')],
  ['a redirect', (_, response) => response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end()],
  ['a cut connection', (_, response) => response.destroy()],
])('%s is unavailability, and the message hides the address', async (_, answer) => {
  const { rpc } = await serve(answer)
  const error = (await rpc.attempt('eth_chainId', []).catch((reason: unknown) => reason)) as Error
  expect(error).toBeInstanceOf(UnavailableError)
  expect(error.message).toContain('eth_chainId')
  expect(error.message).not.toContain('secret-key')
})

test('answers that never end or never come time out', async () => {
  const endless = await serve((_, response) => response.write('x'.repeat(20_000)))
  await expect(endless.rpc.call('a', [])).rejects.toThrow(OversizeError)
  const silent = await serve(() => {}, { timeoutMs: 50, maxBytes: 100 })
  await expect(silent.rpc.call('a', [])).rejects.toThrow(UnavailableError)
})

test('equal calls of one turn are sent once, and every caller gets the answer', async () => {
  const { rpc, bodies } = await serve((calls, response) => {
    response.end(JSON.stringify((calls as Call[]).map(echo)))
  })
  const methods = ['a', 'b', 'a', 'a']
  expect(await Promise.all(methods.map((method) => rpc.call(method, [1])))).toEqual(methods)
  expect(bodies[0]).toHaveLength(2)
})

const tooFast = { code: -32000, message: 'you have exceeded the rate limit' }

/** A node that accepts this many calls within a second; members of batches count. */
function busyNode(
  perSecond: number,
  refuse: (calls: Call | Call[], response: ServerResponse) => void,
): Answer {
  let taken: number[] = []
  return (calls, response) => {
    const now = performance.now()
    taken = taken.filter((at) => at > now - 1000)
    const all = Array.isArray(calls) ? calls : [calls]
    if (taken.length + all.length > perSecond) return refuse(calls, response)
    taken.push(...all.map(() => now))
    response.end(JSON.stringify(Array.isArray(calls) ? calls.map(echo) : echo(calls)))
  }
}

test.concurrent.each<[string, (calls: Call | Call[], response: ServerResponse) => void]>([
  ['HTTP 429', (_, response) => response.writeHead(429).end('slow down')],
  ['HTTP 429 and Retry-After', (_, response) => response.writeHead(429, { 'retry-after': '1' }).end()],
  ['a web page', (_, response) => response.writeHead(403).end('Too many requests, please slow down')],
  ...[-32005, -32016].map((code): [string, (calls: Call | Call[], response: ServerResponse) => void] => [
    `one error ${code}`,
    (_, response) => response.end(JSON.stringify({ id: null, error: { code, message: 'no' } })),
  ]),
  [
    'an error for each call',
    (calls, response) => {
      const errors = (all: Call[]) => all.map(({ id }) => ({ jsonrpc: '2.0', id, error: tooFast }))
      response.end(JSON.stringify(Array.isArray(calls) ? errors(calls) : errors([calls])[0]))
    },
  ],
])('a node that says "too fast" by %s gets every call, in smaller batches and slower', async (_, refuse) => {
  const { rpc, bodies } = await serve(busyNode(10, refuse), { timeoutMs: 10_000, maxBytes: 10_000 })
  const methods = Array.from({ length: 30 }, (_, index) => `m${index}`)
  expect(await Promise.all(methods.map((method) => rpc.call(method, [])))).toEqual(methods)
  expect(rpc.isLimited()).toBe(true)
  const asked = bodies.flat().length
  expect(asked, 'most were not asked in vain').toBeLessThan(3 * methods.length)
})

test('a node that keeps refusing is reported as unavailable after the timeout of an answer', async () => {
  const { rpc, bodies } = await serve((_, response) => response.writeHead(429).end(), {
    timeoutMs: 1_000,
    maxBytes: 100,
  })
  await expect(rpc.attempt('eth_chainId', [])).rejects.toThrow(/eth_chainId.*no more calls/)
  expect(bodies.length).toBeLessThan(5)
})

test('a revert with the words of a rate limit is a revert, and does not slow other calls', async () => {
  const { rpc } = await serve((call, response) => {
    const error = { code: 3, message: 'execution reverted: rate limit', data: '0x08c379a0' }
    response.end(JSON.stringify({ jsonrpc: '2.0', id: (call as Call).id, error }))
  })
  expect(await rpc.attempt('eth_call', [])).toMatchObject({ ok: false, error: { code: 3 } })
  expect(rpc.isLimited()).toBe(false)
})

test('a send that waits for its block travels alone, so that nothing else waits with it', async () => {
  const { rpc, bodies } = await serve((calls, response) => {
    if (Array.isArray(calls)) return void response.end(JSON.stringify(calls.map(echo)))
    const result = { transactionHash: '0xab', blockNumber: '0x1' }
    // Its answer comes after those of the others.
    if (bodies.length === 3) response.end(JSON.stringify({ jsonrpc: '2.0', id: calls.id, result }))
    else held.push(() => response.end(JSON.stringify({ jsonrpc: '2.0', id: calls.id, result })))
  })
  const held: Array<() => void> = []
  const before = Promise.all([rpc.call('a', []), rpc.call('b', [])])
  const sent = rpc.sendAndWait!.send('0x02', 500)
  const after = Promise.all([rpc.call('c', []), rpc.call('d', [])])
  expect(await before).toEqual(['a', 'b'])
  expect(await after).toEqual(['c', 'd'])
  for (const answer of held) answer()
  expect(await sent).toEqual({ is: 'mined', hash: '0xab' })
  expect(bodies).toHaveLength(3)
  expect(rpc.roundTripMs()).toBeLessThan(500)
})

test('a send that waits for its block is cut off before an ordinary answer would be, and does not reject', async () => {
  const { rpc } = await serve(() => {}, { timeoutMs: 60_000, maxBytes: 10_000 })
  const startedMs = performance.now()
  expect(await rpc.sendAndWait!.send('0x02', 50)).toBeUndefined()
  expect(performance.now() - startedMs).toBeLessThan(30_000)
})
