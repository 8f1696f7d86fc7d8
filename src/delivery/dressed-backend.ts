import type { Backend, Order, RouteCall } from '../ports.ts'
import type { BackendAnswer, RawAnswer, RouteAnswer } from '../protocol/access.ts'
import { answerOf } from './backend-answer.ts'
import type { Seal } from './seal.ts'

/** What a paid call came to, before it is dressed as a ResourceResponse. */
export type Answered = { raw: RawAnswer } | { answer: BackendAnswer; failure: string }

export interface Dress {
  seal: Seal
  /** The transaction hash is appended. */
  explorerTxUrl: string
  /** Ids of routes whose answers are passed through as they came. */
  rawRoutes?: ReadonlySet<string>
}

/** A raw answer in storage. */
interface StoredRaw {
  raw: Omit<RawAnswer, 'body'> & { body: string }
}

/** Makes a Backend of whatever answers calls: an HTTP server, or the seller's own function. */
export function dressedBackend(
  answerCall: (order: Order, call: RouteCall) => Promise<Answered>,
  { seal, explorerTxUrl, rawRoutes }: Dress,
): Backend {
  const dress = (order: Order, resource: BackendAnswer, raw?: RawAnswer): RouteAnswer => ({
    response: {
      type: 'ResourceResponse',
      challengeId: order.challengeId,
      requestId: order.requestId,
      routeId: order.itemId,
      txHash: order.txHash,
      explorerUrl: `${explorerTxUrl}${order.txHash}`,
      resource,
    },
    ...(raw && { raw }),
  })
  return {
    async call(order, call) {
      const answered = await answerCall(order, call)
      if ('failure' in answered) {
        return { ok: false, ...dress(order, answered.answer), reason: answered.failure }
      }
      const { raw } = answered
      const isRaw = rawRoutes?.has(order.itemId) === true
      const resource = wrapped(raw)
      const answer = dress(order, resource, isRaw ? raw : undefined)
      const good = raw.status >= 200 && raw.status < 300
      if (!good) return { ok: false, ...answer, reason: `the backend answered ${raw.status}` }
      return { ok: true, ...answer, sealed: seal.seal(isRaw ? stored(raw) : resource, order.challengeId) }
    },
    async open(order, sealed) {
      const kept = seal.open(sealed, order.challengeId) as BackendAnswer | StoredRaw | undefined
      if (kept === undefined) return undefined
      if (!('raw' in kept)) return dress(order, kept)
      const raw = { ...kept.raw, body: Buffer.from(kept.raw.body, 'base64') }
      return dress(order, wrapped(raw), raw)
    },
  }
}

function wrapped({ status, headers, body }: RawAnswer): BackendAnswer {
  const contentType = headers.find(([name]) => name === 'content-type')?.[1]
  return answerOf(status, contentType, body)
}

function stored({ status, headers, body }: RawAnswer): StoredRaw {
  return { raw: { status, headers, body: body.toString('base64') } }
}

/** A failure without an answer of the backend's own still gets a status that says whose fault it was. */
export function noAnswer(status: 502 | 504, failure: string): Answered {
  return { answer: { status, body: { error: failure } }, failure }
}
