import type { Forwarded, RouteCall } from '../ports.ts'
import type { BackendPool } from './backend-pool.ts'
import { forwardedHeaders, signatureHeader } from './payment-headers.ts'
import { type PublicLocation, passedHeaders, publicLocationOf } from './response-headers.ts'

/** What a verified bearer token says about its buyer. */
export interface ForwardedAccess {
  payer: string
  planId: string
  challengeId: string
  txHash: string
}

export type Forward = (call: RouteCall, access?: ForwardedAccess) => Promise<Forwarded>

export interface ForwardConfig {
  pool: BackendPool
  /** PROXY_SECRET. */
  secret: string | null
  timeoutMs: number
  /** Passes on what a proxy in front says about the client. Default false. */
  trustProxy?: boolean
  /** Redirects to the backend are rewritten to the gateway. */
  backendUrl: string
  baseUrl: string
}

const WITHOUT_BODY = new Set([204, 205, 304])

/** Passes a call through unchanged: calls of free routes, and of the guarded resource of plans. */
export function createForward(config: ForwardConfig): Forward {
  const { pool, secret, timeoutMs, trustProxy } = config
  const publicLocation = publicLocationOf(config.backendUrl, config.baseUrl)
  return async (call, access) => {
    const { 'accept-encoding': encoding } = call.headers
    const headers = {
      ...forwardedHeaders(call.headers, trustProxy),
      // The answer is not stored, so it need not be decoded: the client gets the encoding that it asked for.
      ...(encoding !== undefined && { 'accept-encoding': encoding }),
      ...(access && accessHeaders(access)),
      ...(access && signatureHeader(secret, { ...call, path: pool.pathOf(call), ...access }, Date.now())),
    }
    // The bearer token was for the gateway; what the backend may know of it is in the x-svc-* headers.
    if (access) delete (headers as Record<string, string>).authorization
    const stream = new AbortController()
    pool.streams.add(stream)
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      stream.abort()
    }, timeoutMs)
    let answer: Awaited<ReturnType<BackendPool['send']>>
    try {
      answer = await pool.send(call, headers, stream.signal)
    } catch {
      pool.streams.delete(stream)
      if (isLate) return { status: 504, reason: `the backend did not answer within ${timeoutMs / 1000} s` }
      return { status: 502, reason: 'the backend cannot be reached' }
    } finally {
      clearTimeout(timer)
    }
    try {
      return responseOf(answer, publicLocation, () => pool.streams.delete(stream))
    } catch {
      pool.streams.delete(stream)
      // Nobody reads its body, and the connection would wait for that for ever.
      stream.abort()
      return { status: 502, reason: `the backend's answer (status ${answer.statusCode}) is not valid HTTP` }
    }
  }
}

function accessHeaders(access: ForwardedAccess): Record<string, string> {
  return {
    'x-svc-payer': access.payer,
    'x-svc-plan-id': access.planId,
    'x-svc-challenge-id': access.challengeId,
    'x-svc-tx-hash': access.txHash,
  }
}

function responseOf(
  { statusCode, headers: given, body }: Awaited<ReturnType<BackendPool['send']>>,
  publicLocation: PublicLocation,
  onEnd: () => void,
): Response {
  const headers = new Headers(passedHeaders(given, publicLocation))
  if (WITHOUT_BODY.has(statusCode)) {
    // 205 may have one all the same, even an endless one.
    body.dump().catch(() => {})
    onEnd()
    return new Response(null, { status: statusCode, headers })
  }
  return new Response(streamOf(body, onEnd), { status: statusCode, headers })
}

/** Read at the client's pace; if the client leaves, the backend's answer is cancelled too. */
function streamOf(
  body: Awaited<ReturnType<BackendPool['send']>>['body'],
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next()
          if (!done) return controller.enqueue(value as Uint8Array)
          onEnd()
          controller.close()
        } catch (error) {
          onEnd()
          throw error
        }
      },
      async cancel() {
        onEnd()
        await chunks.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
