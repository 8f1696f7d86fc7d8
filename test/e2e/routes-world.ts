import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { ResourceResponse } from '../../src/protocol/access.ts'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { type Answer, answerOf, startWorld, type World } from './world.ts'

export const CALL_PRICE = 10_000n
export const PROXY_SECRET = 'shared with the backend'

export const ROUTES = [
  { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01', description: 'One city' },
  { routeId: 'report', method: 'POST', path: '/report', unitAmount: '$0.01' },
  { routeId: 'cities', method: 'GET', path: '/cities', free: true },
] as const

/** A call as the seller's backend saw it. */
export interface Seen {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: Buffer
}

/** The seller's API: keeps what it saw, checks every signature, and answers as the test says. */
export interface TestBackend {
  url: string
  seen: Seen[]
  answer: (call: Seen, response: ServerResponse) => void
  stop(): Promise<void>
}

export async function startBackend(): Promise<TestBackend> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url = '', headers } = request
    const call = { method, url, headers, body: Buffer.concat(chunks) }
    backend.seen.push(call)
    backend.answer(call, response)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const backend: TestBackend = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    answer: sunny,
    stop: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
  return backend
}

export function sunny({ url }: Seen, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ url, sky: 'clear' }))
}

/** As docs/routes.md tells sellers to do it. */
export function signatureIsGood(
  { method, url, headers }: Omit<Seen, 'body'>,
  secret = PROXY_SECRET,
): boolean {
  const { t = '', v1 = '' } = Object.fromEntries(
    String(headers['x-svc-signature'])
      .split(',')
      .map((part) => part.split('=') as [string, string]),
  )
  if (Math.abs(Date.now() / 1000 - Number(t)) > 300) return false
  const text = [t, method, url, headers['x-svc-challenge-id'], headers['x-svc-tx-hash']].join('.')
  const expected = createHmac('sha256', secret).update(text).digest()
  const given = Buffer.from(v1, 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

export interface CallAnswer extends Omit<Answer, 'body'> {
  body: Answer['body'] & Partial<ResourceResponse>
}

export interface RoutesWorld {
  world: World
  backend: TestBackend
  /** A direct call. */
  call(target: string, init?: RequestInit, payment?: string): Promise<CallAnswer>
  /** The 402 of a direct call. */
  termsOf(target: string, init?: RequestInit): Promise<PaymentRequired>
  /** Terms and a signature for them. */
  signFor(
    buyer: DevAccount,
    target: string,
    init?: RequestInit,
  ): Promise<{ header: string; required: PaymentRequired }>
  /** Sends these very bytes and reads until the server closes. */
  raw(text: string): Promise<string>
  stop(): Promise<void>
}

export async function startRoutesWorld(
  settings: Pick<
    NonNullable<Parameters<typeof startWorld>[0]>,
    'strategy' | 'store' | 'options' | 'instruments' | 'serve' | 'proxied'
  > = {},
): Promise<RoutesWorld> {
  const backend = await startBackend()
  const world = await startWorld({
    ...settings,
    options: {
      routes: ROUTES,
      proxyTo: { baseUrl: backend.url, secret: PROXY_SECRET, timeoutSeconds: 2 },
      ...settings.options,
    },
  })
  const routes: RoutesWorld = {
    world,
    backend,
    async call(target, init = {}, payment) {
      const headers = { ...init.headers, ...(payment !== undefined && { 'payment-signature': payment }) }
      return answerOf(await fetch(world.baseUrl + target, { ...init, headers })) as Promise<CallAnswer>
    },
    async termsOf(target, init) {
      const { status, headers, body } = await routes.call(target, init)
      if (status !== 402) throw new Error(`expected 402, got ${status}: ${JSON.stringify(body)}`)
      return decodeJsonObject(headers.get('payment-required') ?? '') as unknown as PaymentRequired
    },
    async signFor(buyer, target, init) {
      const required = await routes.termsOf(target, init)
      return { required, header: await world.sign(buyer, required.accepts[0]!) }
    },
    async raw(text) {
      const { hostname, port } = new URL(world.baseUrl)
      const socket = connect(Number(port), hostname)
      let received = ''
      socket.setEncoding('utf8').on('data', (chunk) => {
        received += chunk
      })
      await new Promise<void>((done, fail) => {
        socket.once('close', () => done()).once('error', fail)
        socket.write(text)
      })
      return received
    },
    async stop() {
      await world.stop()
      await backend.stop()
    },
  }
  return routes
}
