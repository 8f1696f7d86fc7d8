import { LimitError, type WatchExchange } from '../exchange.ts'
import type { Backend, Order, RouteCall } from '../ports.ts'
import { decodeContent } from './backend-answer.ts'
import type { BackendPool } from './backend-pool.ts'
import { type BackendOptions, type CallResult, createBackend, noAnswer } from './create-backend.ts'
import { forwardedHeaders, paymentHeaders, signatureHeader, unconditional } from './payment-headers.ts'
import { type GivenHeaders, type PublicLocation, rawHeaders } from './response-headers.ts'
import { OVERRIDES_HEADER } from './stated-charge.ts'
import { letOut } from './stream-answer.ts'

export interface HttpBackendConfig extends BackendOptions {
  pool: BackendPool
  /** PROXY_SECRET: signs each call. */
  secret: string | null
  /** For the whole call. */
  timeoutMs: number
  /** Passes on what a proxy in front says about the client. Default false. */
  trustProxy?: boolean
  /** Translates the target of a redirect into an address that buyers can reach. Default: unchanged. */
  publicLocation?: PublicLocation
  /** MAX_RESOURCE_BYTES. A larger answer is a failed delivery, because it could not be stored for a retry. */
  maxBytes: number
}

/** The seller's API over HTTP: no redirects followed, every limit enforced. */
export function createHttpBackend(config: HttpBackendConfig): Backend {
  return createBackend((order, call) => callHttp(order, call, config), config)
}

async function callHttp(order: Order, call: RouteCall, config: HttpBackendConfig): Promise<CallResult> {
  const { pool, secret, maxBytes, timeoutMs, trustProxy, publicLocation = asItIs } = config
  const { challengeId, txHash } = order
  const signed = { method: call.method, path: pool.pathOf(call), challengeId, txHash }
  const headers = {
    ...unconditional(call.method, forwardedHeaders(call.headers, trustProxy)),
    'accept-encoding': 'identity',
    ...paymentHeaders(order),
    ...signatureHeader(secret, signed, Date.now()),
  }
  const watch: WatchExchange = ({ status, headers: given }) =>
    letOut(call.stream, challengeId, {
      ...{ status, headers: rawHeaders(given, publicLocation), encoding: encodingOf(given) },
    })
  const tooLarge = `the backend's answer exceeds ${maxBytes} bytes, or cannot be decoded`
  try {
    const {
      status,
      headers: given,
      bytes,
      trailers,
    } = await pool.ask(call, headers, { timeoutMs, maxBytes }, call.stream && watch)
    const plain = await decodeContent(bytes, encodingOf(given), maxBytes)
    if (plain === undefined) return noAnswer(502, tooLarge)
    return {
      raw: { status, headers: rawHeaders(given, publicLocation), body: plain },
      // What a stream cost is known at its end.
      overrides: headerOf(trailers[OVERRIDES_HEADER]) ?? headerOf(given[OVERRIDES_HEADER]),
    }
  } catch (error) {
    if (!(error instanceof LimitError)) return noAnswer(502, 'the backend cannot be reached')
    if (error.limit === 'size') return noAnswer(502, tooLarge)
    return noAnswer(504, `the backend did not answer within ${timeoutMs / 1000} s`)
  }
}

const asItIs: PublicLocation = (location) => location

const headerOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value

const encodingOf = (given: GivenHeaders): string => headerOf(given['content-encoding']) ?? ''
