import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkLogo } from './check-logo.ts'
import { runChecks } from './run-checks.ts'

let server: Server
let url: string

const ANSWERS: Record<string, [number, Record<string, string>]> = {
  '/logo.svg': [200, { 'content-type': 'image/svg+xml' }],
  '/page': [200, { 'content-type': 'text/html; charset=utf-8' }],
  '/plain': [200, {}],
  '/huge.png': [200, { 'content-type': 'image/png', 'content-length': String(30 * 1024 * 1024) }],
}

beforeAll(async () => {
  server = createServer((request, response) => {
    const [status, headers] = ANSWERS[request.url ?? ''] ?? [404, {}]
    response.writeHead(status, headers).write('x')
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

test.each([
  ['/logo.svg', 'ok', 'is an image (image/svg+xml)'],
  ['/page', 'warn', 'is no image: it is text/html'],
  ['/plain', 'warn', 'is no image: it is nothing that says what it is'],
  ['/huge.png', 'warn', 'has 30.0 MiB; make it smaller than 1 MiB'],
  ['/gone.png', 'warn', 'answers HTTP 404 instead of an image'],
])('a logo at %s: %s', async (path, level, words) => {
  const [finding] = await runChecks([checkLogo(url + path)])
  expect(finding).toMatchObject({ name: 'SHOP_LOGO_URL', level })
  expect(finding?.message).toContain(words)
})

test('a logo on a server that is not there is a warning, not an error: the pages show the name', async () => {
  const [finding] = await runChecks([checkLogo('https://127.0.0.1:1/logo.png')])
  expect(finding).toMatchObject({ name: 'SHOP_LOGO_URL', level: 'warn' })
})
