import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server'
import { VersionNotSupportedError } from '@a2a-js/sdk/errors'
import { type A2ARequestHandler, JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server'
import { GatewayError } from '../../errors.ts'
import type { Endpoint, EndpointContext } from '../http/endpoint.ts'
import { PAID_HEADERS } from '../http/headers.ts'
import { readBody } from '../http/read-body.ts'
import { jsonReply, type Reply } from '../http/reply.ts'
import { X402_V01, X402_V02 } from './agent-card.ts'
import { parseRpc, paymentIn, RPC, type RpcRequest, withDefaults } from './parse-rpc.ts'
import { ADDRESS, FAULT, SIGNAL } from './request-handler.ts'
import { sseResponse } from './sse-response.ts'

/** Each one looks at the store several times a second. */
const MAX_STREAMS = 500
/** A client that wants more subscribes again. */
const MAX_STREAM_MS = 300_000

type RpcId = string | number | null
type RpcAnswer = { id: RpcId; error?: { code: number; message: string; data?: unknown } }

/** Serves both generations of the protocol over POST: 0.3 (`message/send`) and 1.0 (`SendMessage`). */
export function createRpcEndpoint(
  { dialects: { x402 }, limits, render, admit }: EndpointContext,
  handler: A2ARequestHandler,
): Endpoint {
  const current = new JsonRpcTransportHandler(handler)
  const legacy = new LegacyJsonRpcTransportHandler(handler)
  let streams = 0

  return async (request, peer) => {
    const read = await readBody(request, limits)
    if (read.kind === 'fault') {
      return rpcFailure(admit(peer, read.error, { httpStatus: read.httpStatus }), null)
    }
    const rpc = parseRpc(read.text)
    if ('fault' in rpc) {
      const error = new GatewayError('INVALID_REQUEST', rpc.fault)
      return rpcFailure(admit(peer, error, { httpStatus: 200 }), rpc.id, rpc.code)
    }
    const { id = null } = rpc
    // A payment that comes to nothing on its way to the engine stays counted.
    const admitted = admit(peer, { payment: paymentIn(x402, rpc) })
    if ('status' in admitted) return rpcFailure(admitted, id)
    const version = request.headers.get('a2a-version')
    const isLegacy = speaksLegacy(version, rpc)
    const headers = { ...PAID_HEADERS, ...activated(request.headers, isLegacy === true) }
    if (isLegacy === undefined) {
      const error = new VersionNotSupportedError(`A2A ${version} is not spoken here; 1.0 and 0.3 are.`)
      return jsonReply(200, headers, rpcError(id, JsonRpcTransportHandler.mapToJSONRPCError(error)))
    }
    const stop = new AbortController()
    const context = new ServerCallContext({
      requestedVersion: isLegacy ? '0.3' : '1.0',
      state: new Map<string, unknown>([
        [SIGNAL, stop.signal],
        [ADDRESS, peer.address],
      ]),
    })
    const rendered = (answer: RpcAnswer): Reply =>
      jsonReply(200, headers, rewriteInternalError(answer, context))
    const answer = isLegacy
      ? await legacy.handle(withDefaults(rpc), context)
      : await current.handle(rpc, context)
    if (!(Symbol.asyncIterator in answer)) return rendered(answer as RpcAnswer)
    if (streams >= MAX_STREAMS) {
      const message = 'too many clients are listening; use message/send and tasks/get, or come back later'
      const error = new GatewayError('RATE_LIMITED', message, { retryAfterSeconds: 30 })
      return rpcFailure(render.failure(error, { httpStatus: 503 }), id)
    }
    const mapError = isLegacy
      ? LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError
      : JsonRpcTransportHandler.mapToJSONRPCError
    streams++
    const timer = setTimeout(() => stop.abort(), MAX_STREAM_MS)
    stop.signal.addEventListener('abort', () => {
      clearTimeout(timer)
      streams--
    })
    const events = answer as AsyncGenerator<unknown, void, undefined>
    const failed = (error: unknown) => rpcError(id, mapError(error))
    try {
      // A refusal is an answer like any other: only what has begun to stream is a stream.
      const first = await events.next()
      return sseResponse(startingWith(first, events), { headers, stop: () => stop.abort(), failed })
    } catch (error) {
      stop.abort()
      return rendered(failed(error))
    }
  }
}

/** By the header; without one by the method, which each generation spells differently. Undefined: neither. */
function speaksLegacy(version: string | null, { method }: RpcRequest): boolean | undefined {
  if (version === null || version.trim() === '') return !/^[A-Z]/.test(method)
  if (/^0\.3(\.|$)/.test(version.trim())) return true
  return /^1(\.0)*$/.test(version.trim()) ? false : undefined
}

/** The echo that confirms which extensions are active. */
function activated(headers: Headers, isLegacy: boolean): Record<string, string> {
  const asked = ['x-a2a-extensions', 'a2a-extensions']
    .flatMap((name) => headers.get(name)?.split(',') ?? [])
    .map((uri) => uri.trim())
  const active = [X402_V02, X402_V01].filter((uri) => asked.includes(uri))
  if (active.length === 0) return {}
  return { [isLegacy ? 'x-a2a-extensions' : 'a2a-extensions']: active.join(', ') }
}

async function* startingWith(
  first: IteratorResult<unknown, void>,
  rest: AsyncGenerator<unknown, void, undefined>,
): AsyncGenerator<unknown, void, undefined> {
  if (first.done) return
  yield first.value
  yield* rest
}

/** The library reports a message that it cannot translate as an internal error. It is the client's error, and told as such. */
function rewriteInternalError(answer: RpcAnswer, { state }: ServerCallContext): RpcAnswer {
  if (answer.error?.code !== RPC.internal || state.has(FAULT)) return answer
  const message =
    'params are malformed; a message has parts such as {"kind": "data", "data": {…}} or {"kind": "text", "text": "…"}'
  return { ...answer, error: { code: RPC.params, message } }
}

function rpcError(id: RpcId, error: { code: number; message: string; data?: unknown }) {
  return { jsonrpc: '2.0', id, error }
}

/** A refusal of plain HTTP (too large, too often) as A2A clients can read it; status and headers stay. */
function rpcFailure({ status, headers, body }: Reply, id: RpcId, code: number = RPC.server): Reply {
  const data = JSON.parse(body ?? '{}') as { message: string }
  return jsonReply(status, headers, rpcError(id, { code, message: data.message, data }))
}
