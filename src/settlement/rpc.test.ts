import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { UnavailableError } from '../errors.ts'
import { OversizeError } from './http-text.ts'
import { createRpc } from './rpc.ts'

type Call = { id: number; method: string; params: unknown[] }
type Answer = (calls: Call | Call[], response: ServerResponse) => void

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function serve(answer: Answer, limits = { timeoutMs: 2_000, maxBytes: 10_000 }) {
  const bodies: Array<Call | Call[]> = []
  server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const calls = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
    bodies.push(calls)
    answer(calls, response)
  })
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/secret-key`
  return { rpc: createRpc(url, limits), bodies }
}

const echo = ({ id, method }: Call) => ({ jsonrpc: '2.0', id, result: method })

test('calls of one turn travel as one batch, and answers in any order find their calls', async () => {
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

test('a node that takes batches of two gets batches of two, and is not asked for more again', async () => {
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

test('an error answer is an answer to attempt, and unavailability to call', async () => {
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
  [
    'a rate limit',
    (_, response) => response.writeHead(429).end('{"jsonrpc":"2.0","id":0,"error":{"message":"slow"}}'),
  ],
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

test('an answer that never ends and one that never comes are given up', async () => {
  const endless = await serve((_, response) => response.write('x'.repeat(20_000)))
  await expect(endless.rpc.call('a', [])).rejects.toThrow(OversizeError)
  const silent = await serve(() => {}, { timeoutMs: 50, maxBytes: 100 })
  await expect(silent.rpc.call('a', [])).rejects.toThrow(UnavailableError)
})
