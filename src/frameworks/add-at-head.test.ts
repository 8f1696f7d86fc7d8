import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { addAtHead } from './add-at-head.ts'

const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

async function headersOf(write: (response: ServerResponse) => void): Promise<Headers> {
  const server = createServer((_request, response) => {
    addAtHead(response, (status) => ({ 'cache-control': 'no-store', 'x-status': String(status) }))
    write(response)
    response.end()
  }).listen(0, '127.0.0.1')
  cleanups.push(() => server.close().closeAllConnections())
  await once(server, 'listening')
  return (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).headers
}

const COOKIES = ['a=1', 'b=2']

test.each<[string, (response: ServerResponse) => void]>([
  [
    'set one by one',
    (response) => {
      response.setHeader('Cache-Control', 'public').setHeader('set-cookie', COOKIES)
    },
  ],
  ['given to writeHead', (response) => void response.writeHead(200, given())],
  ['given to writeHead behind a reason', (response) => void response.writeHead(200, 'Fine', given())],
  ['given as a list', (response) => void response.writeHead(200, list())],
  ['given as a list of pairs', (response) => void response.writeHead(200, pairs() as never)],
  [
    'given as a list, after others were set',
    (response) => void response.setHeader('x-more', '1').writeHead(200, list()),
  ],
])('our headers go out in place of the seller’s, and its others stay: %s', async (_how, write) => {
  const headers = await headersOf(write)
  expect([headers.get('cache-control'), headers.get('x-status')]).toEqual(['no-store', '200'])
  expect(headers.getSetCookie()).toEqual(COOKIES)
})

const given = () => ({ 'Cache-Control': 'public', 'set-cookie': COOKIES })
const pairs = () => [['Cache-Control', 'public'], ...COOKIES.map((cookie) => ['set-cookie', cookie])]
const list = () => pairs().flat()
