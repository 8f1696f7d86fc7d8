import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type Held, holdAnswer } from './hold-answer.ts'

const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

async function serving(handler: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_request, response) => handler(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const held = (change: Partial<Held> = {}): Held => ({
  headersFor: (status) => ({
    'x-svc-credits-charged': '1',
    'x-status': String(status),
    'cache-control': 'no-store',
  }),
  finish: async () => undefined,
  refusal: () => ({ status: 503, headers: { 'x-svc-code': 'NO' }, body: 'withheld' }),
  ...change,
})

test('what was written comes in its order; the status is that of the head', async () => {
  const seen: unknown[] = []
  const url = await serving((response) => {
    holdAnswer(response, held())
    response.statusCode = 201
    expect(response.write('one ')).toBe(true)
    response.statusCode = 500
    response.write(Buffer.from('two '))
    response.end('three')
    response.end('four')
    seen.push(response.headersSent, response.writableEnded)
  })
  const answer = await fetch(url)
  expect([answer.status, await answer.text()]).toEqual([201, 'one two three'])
  expect([answer.headers.get('x-status'), answer.headers.get('x-svc-credits-charged')]).toEqual(['201', '1'])
  expect(seen).toEqual([true, true])
})

test.each<[string, (response: ServerResponse) => unknown]>([
  [
    'one by one',
    (response) => response.setHeader('cache-control', 'public').setHeader('x-own', '1').writeHead(200),
  ],
  ['with the head', (response) => response.writeHead(200, { 'Cache-Control': 'public', 'x-own': '1' })],
])('our headers go out in place of the seller’s, and its others stay, set %s', async (_how, write) => {
  const url = await serving((response) => {
    holdAnswer(response, held())
    write(response)
    response.end()
  })
  const { headers } = await fetch(url)
  expect([headers.get('cache-control'), headers.get('x-own')]).toEqual(['no-store', '1'])
})

test('no byte goes out before it is agreed; what is refused is replaced, head and all', async () => {
  let refuse: (reason: Error) => void = () => {}
  const finish = () => new Promise<void>((_resolve, reject) => (refuse = reject))
  let own: ServerResponse | undefined
  const url = await serving((response) => {
    own = response
    holdAnswer(response, held({ finish }))
    response.writeHead(200, { 'x-own': 'secret' })
    response.write('secret')
  })
  const asked = fetch(url)
  await expect.poll(() => own?.headersSent).toBe(true)
  expect(own!.socket!.bytesWritten).toBe(0)
  refuse(new Error('no'))
  const answer = await asked
  expect([answer.status, answer.headers.get('x-own'), await answer.text()]).toEqual([503, null, 'withheld'])
  // The handler goes on all the same.
  expect(own!.write('more')).toBe(false)
  own!.end('more')
})

test('middleware that wraps the response afterwards sees all that is written', async () => {
  const url = await serving((response) => {
    holdAnswer(response, held())
    const { write, end } = response
    response.write = ((chunk: string) => write.call(response, chunk.toUpperCase(), 'utf8')) as never
    response.end = ((chunk: string) => end.call(response, chunk.toUpperCase(), 'utf8')) as never
    response.once('drain', () => response.end(' later'))
    response.write('at once')
  })
  expect(await (await fetch(url)).text()).toBe('AT ONCE LATER')
})

test('what cannot be written ends the connection, and not the process', async () => {
  const url = await serving((response) => {
    holdAnswer(response, held())
    response.end(42 as never)
  })
  await expect(fetch(url)).rejects.toThrow()
})
