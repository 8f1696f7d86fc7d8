import type { IncomingMessage } from 'node:http'
import { toRequest } from '../../src/frameworks/to-request.ts'
import { createGateway } from '../../src/gateway.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { paymentPayload, signAuthorization, startDevChain } from '../../src/testing/index.ts'
import { startBackend, type TestBackend } from '../e2e/routes-world.ts'
import type { Json } from './mutate.ts'
import { fault } from './target.ts'

export const BASE_URL = 'http://127.0.0.1:3000'
const TTL_SECONDS = 4

/** A whole gateway on a real chain, called without a socket. No payer has money, so nothing is ever sold. */
export interface FuzzedGateway {
  backend: TestBackend
  /** Terms that are still open, and a payment for them that only lacks the money. */
  fresh(): Promise<Sample>
  /** Answers as strangers see it; throws for what no stranger may see. */
  send(request: Request): Promise<Answer>
  close(): Promise<void>
}

export interface Sample {
  payment: Json
  challengeId: string
  /** Of other terms, for messages that put an end to them. */
  doomedId: string
}

export interface Answer {
  status: number
  headers: Headers
  body: string
}

export async function openGateway(): Promise<FuzzedGateway> {
  const chain = await startDevChain()
  const backend = await startBackend()
  const faults: string[] = []
  const gateway = await createGateway({
    walletAddress: chain.account(0).address,
    network: 'testnet',
    baseUrl: BASE_URL,
    rpcUrl: chain.rpcUrl,
    gasWalletPrivateKey: chain.account(1).privateKey,
    tokenSecret: 'a shared secret of more than thirty-two bytes',
    store: 'memory',
    // What inputs have stored must be swept during the run, or memory would grow as it should.
    challengeTtlSeconds: TTL_SECONDS,
    plans: [
      { planId: 'basic', unitAmount: '$1.00', credits: 5 },
      { planId: 'pro', unitAmount: '$2.50' },
    ],
    routes: [
      { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01', credits: 1 },
      { routeId: 'report', method: 'POST', path: '/report', unitAmount: '$0.01' },
      { routeId: 'free', method: 'GET', path: '/free/:name', free: true },
    ],
    proxyTo: { baseUrl: backend.url },
    a2a: { streaming: true },
    mcp: { routes: true },
    onAlert(kind, message) {
      if (kind === 'request-failed') faults.push(message)
    },
  })

  async function send(request: Request): Promise<Answer> {
    const response = await gateway.fetch(request, { a2aOnAccess: true })
    const { status, headers } = response
    const body = await textOf(response)
    const hidden = faults.shift()
    if (hidden !== undefined) fault(`an unexpected fault: ${hidden}`)
    const pending = status === 503 && headers.get('x-svc-code') === 'SETTLEMENT_PENDING'
    if (status >= 500 && !pending) fault(`${status}: ${body.slice(0, 300)}`)
    if (/"code":-32603|\bat \w+ \(|\.[jt]s:\d+:\d+/.test(body))
      fault(`our own code shows: ${body.slice(0, 300)}`)
    return { status, headers, body }
  }

  let asked = 0
  async function terms(): Promise<PaymentRequired> {
    const body = JSON.stringify({ planId: 'basic', requestId: `sample-${asked++}` })
    return JSON.parse((await send(post('/x402/access', body))).body)
  }

  let sample: (Sample & { until: number }) | undefined
  async function fresh(): Promise<Sample> {
    if (sample && performance.now() < sample.until) return sample
    const [{ accepts, challengeId }, { challengeId: doomedId }] = [await terms(), await terms()]
    const accepted = accepts[0]!
    // A payer gets so many failures a minute.
    const buyer = await chain.newBuyer()
    const signed = await signAuthorization({ account: buyer.account, requirements: accepted })
    const payment = paymentPayload({ accepted, ...signed }) as Json
    sample = { payment, challengeId, doomedId, until: performance.now() + TTL_SECONDS * 250 }
    return sample
  }

  return {
    backend,
    fresh,
    send,
    async close() {
      await gateway.close()
      await backend.stop()
      await chain.stop()
    },
  }
}

export function post(path: string, body: string, headers: Record<string, string> = {}): Request {
  return new Request(BASE_URL + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
}

/** A request as our own bridge makes it; its target is not corrected. */
export function wireRequest(method: string, target: string, headers: Record<string, string> = {}): Request {
  const incoming = { method, url: target, headers, rawHeaders: Object.entries(headers).flat() }
  return toRequest(incoming as unknown as IncomingMessage, BASE_URL)
}

/** Of a stream, what comes at once: it may stay open for as long as its task does. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text()
  const reader = response.body!.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return new TextDecoder().decode(value)
}
