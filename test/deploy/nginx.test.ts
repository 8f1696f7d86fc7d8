import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { boot } from '../../src/server/boot.ts'
import { type DevChain, paymentHeader, signAuthorization, startDevChain } from '../../src/testing/index.ts'
import { eventually, freePort, PRICE, TOKEN_SECRET } from '../e2e/world.ts'
import { callPlain, type Nginx, startNginx } from './nginx.ts'

const ROUTES = [
  { routeId: 'paid', method: 'GET', path: '/paid', unitAmount: '$1.00', raw: true },
  { routeId: 'echo', method: 'GET', path: '/echo', free: true },
  { routeId: 'stream', method: 'GET', path: '/stream', free: true },
  { routeId: 'big', method: 'GET', path: '/big', free: true },
]
const ADMIN_TOKEN = 'the-token-of-the-operator'
const BIG = 'x'.repeat(9000)

let chain: DevChain
let folder: string
let backend: Server
let server: { close(): Promise<void> }
let nginx: Nginx
/** The answer of /stream, which the test ends. */
let streaming: ServerResponse

beforeAll(async () => {
  chain = await startDevChain()
  folder = await mkdtemp(join(tmpdir(), 'paystile-nginx-data-'))
  backend = createServer((request, response) => {
    if (request.url === '/stream') {
      streaming = response.writeHead(200, { 'content-type': 'text/plain' })
      streaming.write('first\n')
    } else if (request.url === '/big') response.writeHead(200, { 'x-big': BIG }).end('big')
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(request.headers))
  })
  await new Promise<void>((ready) => backend.listen(0, '127.0.0.1', ready))
  const [port, tlsPort] = [await freePort(), await freePort()]
  server = await boot(
    {
      ...{
        DATA_DIR: join(folder, 'data'),
        PORT: String(port),
        SVC_MANAGED_INFRA: 'none',
        LOG_LEVEL: 'silent',
      },
      ...{ BASE_URL: `https://127.0.0.1:${tlsPort}`, TRUST_PROXY: 'true', RATE_LIMIT_PER_MINUTE: '60' },
      ...{ SVC_WALLET_ADDRESS: chain.account(0).address, RPC_URL: chain.rpcUrl, POLL_INTERVAL_MS: '50' },
      GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
      PROXY_TO_BASE_URL: `http://127.0.0.1:${(backend.address() as AddressInfo).port}`,
      ROUTES: JSON.stringify(ROUTES),
      PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
      TOKEN_SECRET,
      METRICS_TOKEN: 'a-token-for-Prometheus',
      ADMIN_TOKEN,
    },
    { print: () => {} },
  )
  nginx = await startNginx(tlsPort, port)
})
afterAll(async () => {
  await nginx?.stop()
  await server?.close()
  backend?.closeAllConnections()
  await new Promise((closed) => backend.close(closed))
  await chain?.stop()
  await rm(folder, { recursive: true, force: true })
})

test('a purchase goes through, over TLS, and plain http leads there', async () => {
  const offer = await nginx.call('/paid')
  expect(offer.status).toBe(402)
  const required = decodeJsonObject(offer.headers['payment-required'] as string) as unknown as PaymentRequired
  expect(required.resource?.url).toBe(`${nginx.url}/paid`)
  const buyer = await chain.newBuyer({ micro: 3n * PRICE })
  const accepted = required.accepts[0]!
  const header = paymentHeader({
    accepted,
    ...(await signAuthorization({ account: buyer.account, requirements: accepted })),
  })
  const bought = await eventually(async () => {
    const answer = await nginx.call('/paid', { headers: { 'payment-signature': header } })
    return answer.status === 503 ? undefined : answer
  })
  expect(bought.status, bought.text).toBe(200)
  expect(bought.headers['payment-response']).toBeDefined()
  expect(bought.headers['strict-transport-security']).toBe('max-age=31536000')
  expect(await chain.balanceOf(buyer.address)).toBe(2n * PRICE)

  const plain = await callPlain(`${nginx.plainUrl}/paid?a=1`)
  expect({ status: plain.status, to: plain.headers.location }).toEqual({
    status: 308,
    to: `${nginx.url}/paid?a=1`,
  })
})

test('streamed answers pass piece by piece', async () => {
  const answer = await nginx.open('/stream')
  const pieces = answer.setEncoding('utf8')[Symbol.asyncIterator]()
  // The backend goes on only after the first piece has arrived: whoever keeps it back waits for ever.
  expect((await pieces.next()).value).toBe('first\n')
  streaming.end('second\n')
  expect((await pieces.next()).value).toBe('second\n')
})

test('answers with large headers arrive, as a 402 with six networks has them', async () => {
  const { status, headers } = await nginx.call('/big')
  expect({ status, length: headers['x-big']?.length }).toEqual({ status: 200, length: BIG.length })
})

test('a payment header of 8 KiB reaches the gateway, and a body above the limit does not', async () => {
  const long = await nginx.call('/paid', { headers: { 'payment-signature': 'A'.repeat(9000) } })
  expect(long.headers['content-type']).toContain('application/json')
  expect(long.status).toBe(400)
  const large = await nginx.call('/x402/access', { method: 'POST', body: Buffer.alloc(1_200_000, 32) })
  expect(large.status).toBe(413)
})

test('the client’s address is that of its connection, whatever it claims', async () => {
  const claims = { 'x-forwarded-for': '6.6.6.6', 'x-real-ip': '6.6.6.6', 'x-forwarded-proto': 'gopher' }
  const seen = JSON.parse((await nginx.call('/echo', { headers: claims, from: '127.0.0.9' })).text)
  expect(seen).toMatchObject({
    'x-forwarded-for': '127.0.0.9',
    'x-real-ip': '127.0.0.9',
    'x-forwarded-proto': 'https',
  })

  const ask = async (from: string, claimed: string) =>
    (await nginx.call('/paid', { from, headers: { 'x-forwarded-for': claimed } })).status
  const statuses: number[] = []
  for (let turn = 0; turn < 70; turn++) statuses.push(await ask('127.0.0.3', `10.0.0.${turn}`))
  expect(new Set(statuses)).toEqual(new Set([402, 429]))
  expect(await ask('127.0.0.4', '127.0.0.3'), 'somebody else').toBe(402)
})

test('the operator’s pages are for the allowed network, and tries to log in are counted by the real address', async () => {
  expect((await nginx.call('/admin', { from: '127.0.0.2' })).status).toBe(401)
  expect((await nginx.call('/setup', { from: '127.0.0.9' })).status).toBe(403)
  const body = JSON.stringify({ token: 'a token that somebody guessed' })
  const statuses: number[] = []
  for (let turn = 0; turn < 12; turn++) {
    const headers = {
      'content-type': 'application/json',
      'x-forwarded-for': `10.0.1.${turn}`,
      origin: nginx.url,
    }
    statuses.push(
      (await nginx.call('/admin/api/login', { method: 'POST', headers, body, from: '127.0.0.2' })).status,
    )
  }
  expect(statuses).toContain(429)
})

test('a description as large as the setup page allows is imported, from the allowed network only', async () => {
  const text = JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Large', version: '1', description: 'x'.repeat(1_800_000) },
    servers: [{ url: 'https://api.example.com' }],
    paths: { '/large': { get: { responses: { 200: { description: 'it' } } } } },
  })
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${ADMIN_TOKEN}` }
  const upload = { method: 'POST', headers, body: JSON.stringify({ text }) }
  const taken = await nginx.call('/setup/api/import', { ...upload, from: '127.0.0.2' })
  expect(taken.status, taken.text.slice(0, 200)).toBe(200)
  expect(JSON.parse(taken.text)).toMatchObject({ title: 'Large' })
  expect((await nginx.call('/setup/api/import', { ...upload, from: '127.0.0.9' })).status).toBe(403)
})

test('Prometheus reads the figures with its token', async () => {
  expect((await nginx.call('/metrics')).status).toBe(401)
  const { status, text } = await nginx.call('/metrics', {
    headers: { authorization: 'Bearer a-token-for-Prometheus' },
  })
  expect(status).toBe(200)
  expect(text).toMatch(/svc_payments_total\{.*outcome="delivered".*\} 1/)
})
