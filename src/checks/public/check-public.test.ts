import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { cli } from '../../../test/e2e/cli-terminal.ts'
import { encodeJson } from '../../protocol/base64.ts'
import { freePort } from '../../testing/free-port.ts'
import { checkPublic } from './check-public.ts'

type Reply = { status?: number; headers?: Record<string, string>; body?: unknown }
type Replies = Record<string, Reply>

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((closed) => server.close(closed))
})

/** A server that answers these paths, `{url}` being its address, and 404 to all others. */
async function listening(replies: Replies): Promise<string> {
  const server = createServer((request, response) => {
    const reply = replies[`${request.method} ${request.url}`] ?? { status: 404 }
    const text = JSON.stringify(reply.body ?? {}).replaceAll('{url}', url)
    response.writeHead(reply.status ?? 200, { connection: 'close', ...reply.headers }).end(text)
  })
  servers.push(server)
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return url
}

const required = {
  x402Version: 2,
  accepts: [
    {
      ...{ scheme: 'exact', network: 'eip155:8453', asset: '0x1', amount: '1', payTo: '0x2' },
      maxTimeoutSeconds: 900,
    },
  ],
  extensions: {
    bazaar: {
      schema: {
        properties: {
          input: { properties: { queryParams: {} } },
          output: { properties: { example: {} } },
        },
      },
    },
  },
}
const offer = (value: object = required, more: Record<string, string> = {}): Reply => ({
  status: 402,
  headers: {
    'payment-required': encodeJson(value),
    'www-authenticate': 'Payment realm="x", method="evm"',
    ...more,
  },
})
const operation = {
  summary: 'The weather',
  security: [],
  responses: { '402': {} },
  'x-payment-info': { price: { mode: 'fixed', amount: '0.01' }, protocols: [{ x402: {} }] },
}
const document = {
  openapi: '3.1.0',
  info: { title: 'x', version: '1', contact: { email: 'a@b.example' }, 'x-guidance': 'Pay.' },
  servers: [{ url: '{url}' }],
  paths: { '/weather': { get: operation } },
}
const described = (change: object): Replies => ({
  'GET /openapi.json': { body: { ...document, ...change } },
})
const healthy: Replies = {
  'GET /health': { body: { status: 'ok', version: '1.0.0' } },
  'GET /openapi.json': { body: document },
  'HEAD /favicon.ico': { headers: { 'content-type': 'image/png' } },
  'GET /weather': offer(),
}

async function complaints(change: Replies, path = ''): Promise<string[]> {
  const url = await listening({ ...healthy, ...change })
  const findings = await checkPublic(url + path)
  const told = findings.filter(({ name, level }) => level !== 'ok' && name !== 'https')
  return told.map(({ name, level, message }) => `${level} ${name}: ${message.replaceAll(url, '')}`)
}

test('nothing is wrong with a server that has everything', async () => {
  expect(await complaints({})).toEqual([])
})

const without = (field: string) => {
  const { [field]: _gone, ...rest } = operation as Record<string, unknown>
  return described({ paths: { '/weather': { get: rest } } })
}

describe('what a directory would say', () => {
  test.each<[string, Replies, string]>([
    [
      'no document',
      { 'GET /openapi.json': { status: 404 } },
      'error openapi.json: /openapi.json answers 404',
    ],
    ['a document of something else', { 'GET /openapi.json': { body: [] } }, 'is not a JSON object'],
    ['an old document', described({ openapi: '2.0' }), 'is not OpenAPI 3'],
    [
      'another server',
      described({ servers: [{ url: 'https://b.example' }] }),
      'warn openapi.json: says that',
    ],
    ['no contact', described({ info: { ...document.info, contact: {} } }), 'error contact: openapi.json has'],
    [
      'no email',
      described({ info: { ...document.info, contact: { url: 'https://b.example' } } }),
      'warn contact: https://b.example, but no email',
    ],
    [
      'no guidance',
      described({ info: { title: 'x', version: '1', contact: { email: 'a' } } }),
      'error guidance',
    ],
    [
      'long guidance',
      described({ info: { ...document.info, 'x-guidance': 'x'.repeat(4001) } }),
      'warn guidance: 4001 characters',
    ],
    ['no icon', { 'HEAD /favicon.ico': { status: 404 } }, 'warn favicon: there is none'],
    ['an icon that is none', { 'HEAD /favicon.ico': {} }, 'warn favicon: there is none'],
    ['no summary', without('summary'), 'error operations: GET /weather has no summary'],
    ['no word on credentials', without('security'), 'does not say whether it needs a credential'],
    [
      'no 402',
      described({ paths: { '/weather': { get: { ...operation, responses: {} } } } }),
      'no 402 response',
    ],
    [
      'no price',
      described({ paths: { '/weather': { get: { ...operation, 'x-payment-info': {} } } } }),
      'GET /weather has no price in x-payment-info (and 1 more)',
    ],
    ['nothing for sale', without('x-payment-info'), 'warn operations: none of 1 operations is paid'],
    ['an endpoint that is free', { 'GET /weather': {} }, 'error GET /weather: answers 200'],
    ['an endpoint that redirects', { 'GET /weather': { status: 308 } }, 'error GET /weather: answers 308'],
    ['no terms', { 'GET /weather': { status: 402 } }, 'without the header payment-required'],
    ['broken terms', { 'GET /weather': offer({}, { 'payment-required': '!' }) }, 'not base64 of JSON'],
    ['terms of version 1', { 'GET /weather': offer({ ...required, x402Version: 1 }) }, 'x402 version 1'],
    ['no way to pay', { 'GET /weather': offer({ ...required, accepts: [] }) }, 'accepts is empty'],
    [
      'half a way to pay',
      { 'GET /weather': offer({ ...required, accepts: [{}] }) },
      'no scheme in accepts[0]',
    ],
    ['no schema', { 'GET /weather': offer({ ...required, extensions: {} }) }, 'does not describe its input'],
    ['no MPP', { 'GET /weather': offer(required, { 'www-authenticate': 'Bearer' }) }, 'no MPP challenge'],
    ['large headers', { 'GET /weather': offer(required, { 'x-proxy': 'x'.repeat(8000) }) }, 'many servers'],
    [
      'huge headers',
      { 'GET /weather': offer(required, { 'x-proxy': 'x'.repeat(20_000) }) },
      'more headers than',
    ],
  ])('%s', async (_case, change, told) => {
    expect(await complaints(change)).toEqual([expect.stringContaining(told)])
  })

  test('a metered call is offered without MPP', async () => {
    const accepts = required.accepts.map((entry) => ({ ...entry, scheme: 'upto' }))
    const metered = offer({ ...required, accepts }, { 'www-authenticate': 'Bearer' })
    expect(await complaints({ 'GET /weather': metered })).toEqual([])
  })

  test.each<[string, Replies, string]>([
    ['no card', {}, 'error agent card: /.well-known/agent-card.json answers 404, and no agent card'],
    [
      'a card of another address',
      { 'GET /.well-known/agent-card.json': { body: { name: 'x', url: 'https://b.example/a2a' } } },
      'warn agent card: it sends agents to https://b.example/a2a',
    ],
  ])('%s', async (_case, change, told) => {
    const free = { summary: 'x', security: [], responses: {} }
    const paths = { ...document.paths, '/a2a': { post: free } }
    expect(await complaints({ ...described({ paths }), ...change })).toEqual([expect.stringContaining(told)])
  })

  test('MCP that does not answer', async () => {
    const paths = { ...document.paths, '/mcp': { post: { summary: 'x', security: [], responses: {} } } }
    expect(await complaints(described({ paths }))).toEqual([expect.stringMatching(/^error MCP: .* 404$/)])
  })

  test('more than forty operations', async () => {
    const free = { summary: 'x', security: [], responses: {} }
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`/${index}`, { get: free }]))
    const told = await complaints(described({ paths: { ...many, ...document.paths } }))
    expect(told).toEqual([expect.stringContaining('warn operations: 41 operations')])
  })

  test('a base path: directories look at the root of the host', async () => {
    const below = Object.fromEntries(
      Object.entries(healthy).map(([at, reply]) => [at.replace(' /', ' /pay/'), reply]),
    )
    const servers = [{ url: '{url}/pay' }]
    const told = await complaints(
      {
        ...below,
        'GET /pay/openapi.json': { body: { ...document, servers } },
        'GET /openapi.json': { status: 404 },
      },
      '/pay',
    )
    expect(told).toEqual(['warn root: /openapi.json answers 404: directories look for it there'])
  })
})

describe('an address that cannot be asked is one clear line and exit code 1', () => {
  test.each([
    ['pay.example.com', 'The URL to ask is not a URL, for example: paystile doctor --public https://'],
    ['ftp://pay.example.com', 'The URL to ask begins with ftp:; it must be an http or https URL'],
    ['https://pay.example.com/?a=1', 'The URL to ask has a part after "?"'],
  ])('%s', async (url, told) => {
    const { code, errors } = await cli({}, 'doctor', '--public', url)
    expect(code).toBe(1)
    expect(errors).toContain(told)
    expect(errors.trim().split('\n')).toHaveLength(1)
  })

  test('none at all, or one without --public', async () => {
    expect(await cli({ PORT: String(await freePort()) }, 'doctor', '--public')).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^error +address +localhost:\d+ refuses the connection/),
    })
    expect(await cli({}, 'doctor', 'https://pay.example.com')).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/--public is missing/),
    })
  })

  test('nobody there, or not a gateway', async () => {
    const dead = await cli({}, 'doctor', '--public', `http://127.0.0.1:${await freePort()}`)
    expect(dead.code).toBe(1)
    expect(dead.output).toMatch(
      /^error +address +127\.0\.0\.1:\d+ refuses the connection → .*\n0 ok, .*1 error\n$/,
    )
    const other = await cli({}, 'doctor', '--public', await listening({}))
    expect(other.code).toBe(1)
    expect(other.output).toMatch(/^error +address +.* is not a paystile gateway: .*\n0 ok, .*1 error\n$/)
    const waiting = { 'GET /health': { body: { status: 'ok', version: '1', configured: false } } }
    const unready = await cli({}, 'doctor', '--public', await listening(waiting))
    expect(unready.output).toMatch(/^error +address +.* waits to be configured/)
  })
})
