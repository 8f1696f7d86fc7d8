import type { Backend, Called, Order, RouteCall } from '../ports.ts'
import type { BackendAnswer, RawAnswer, RouteAnswer } from '../protocol/access.ts'
import { answerOf } from './backend-answer.ts'
import type { Seal } from './seal.ts'
import { type ChargeRules, statedCharge } from './stated-charge.ts'

/** The result of a paid call, before it becomes a ResourceResponse. */
export type CallResult =
  /** `overrides`: the backend's own `Settlement-Overrides`. */
  { raw: RawAnswer; overrides?: string | undefined } | NoAnswer

interface NoAnswer {
  answer: BackendAnswer
  failure: string
}

export interface BackendOptions {
  seal: Seal
  /** The start of a transaction's page on the explorer of a network. */
  explorerTxUrl(networkId: string): string
  /** Ids of routes whose answers are passed through unchanged. */
  rawRoutes?: ReadonlySet<string>
  /** How metered routes find their charge. */
  chargeRules?: ChargeRules
}

const UNREAD: BackendAnswer = { status: 0, body: null }

/** A raw answer as it is stored. */
interface StoredRaw {
  raw: Omit<RawAnswer, 'body'> & { body: string }
}

/** Makes a Backend of a function that answers calls: by asking an HTTP server, or by calling the seller's own code. */
export function createBackend(
  answerCall: (order: Order, call: RouteCall) => Promise<CallResult>,
  { seal, explorerTxUrl, rawRoutes, chargeRules }: BackendOptions,
): Backend {
  const routeAnswer = (order: Order, resource: BackendAnswer, raw?: RawAnswer): RouteAnswer => ({
    response: {
      type: 'ResourceResponse',
      challengeId: order.challengeId,
      requestId: order.requestId,
      routeId: order.itemId,
      txHash: order.txHash,
      explorerUrl: order.txHash && `${explorerTxUrl(order.network)}${order.txHash}`,
      resource,
    },
    ...(raw && { raw }),
  })
  /** Its wrapped form is made when somebody looks at it: a raw answer is not parsed for nothing. */
  const rawAnswer = (order: Order, raw: RawAnswer): RouteAnswer => {
    const answer = routeAnswer(order, UNREAD, raw)
    let resource: BackendAnswer | undefined
    Object.defineProperty(answer.response, 'resource', {
      enumerable: true,
      get: () => {
        resource ??= wrapped(raw)
        return resource
      },
    })
    return answer
  }
  const failed = (order: Order, { answer, failure }: NoAnswer) => ({
    ok: false as const,
    ...routeAnswer(order, answer),
    reason: failure,
  })
  async function callOnce(order: Order, call: RouteCall): Promise<Called> {
    const answered = await answerCall(order, call)
    if ('failure' in answered) return failed(order, answered)
    const { raw } = answered
    const isRaw = rawRoutes?.has(order.itemId) === true
    // Of a raw route it is mostly not looked at.
    const answer = isRaw ? rawAnswer(order, raw) : routeAnswer(order, wrapped(raw))
    const good = raw.status >= 200 && raw.status < 300
    if (!good) return { ok: false, ...answer, reason: `the backend answered ${raw.status}` }
    const name = sealedFor(order)
    const sealed = name === null ? '' : seal.seal(isRaw ? stored(raw) : answer.response.resource, name)
    const rule = chargeRules?.get(order.itemId)
    const charge = rule === undefined ? undefined : statedCharge(rule, answered.overrides, raw)
    call.stream?.end()
    return { ok: true, ...answer, sealed, ...(charge && { charge }) }
  }
  return {
    async call(order, call) {
      try {
        return await callOnce(order, call)
      } catch (error) {
        // A call that throws would be neither delivered nor failed, and nothing would go back for it.
        const name = error instanceof Error ? error.name : 'no Error'
        return failed(order, noAnswer(502, `the answer cannot be kept (${name})`))
      }
    },
    async open(order, sealed) {
      const kept = seal.open(sealed, sealedFor(order) ?? '') as BackendAnswer | StoredRaw | undefined
      if (kept === undefined) return undefined
      if (!('raw' in kept)) return routeAnswer(order, kept)
      const raw = { ...kept.raw, body: Buffer.from(kept.raw.body, 'base64') }
      return routeAnswer(order, wrapped(raw), raw)
    },
  }
}

const sealedFor = ({ challengeId, prepaid }: Order): string | null =>
  prepaid ? prepaid.sealedFor : challengeId

function wrapped({ status, headers, body }: RawAnswer): BackendAnswer {
  const contentType = headers.find(([name]) => name === 'content-type')?.[1]
  return answerOf(status, contentType, body)
}

function stored({ status, headers, body }: RawAnswer): StoredRaw {
  return { raw: { status, headers, body: body.toString('base64') } }
}

/** A failure without an answer of the backend: 502 if it failed, 504 if it was too slow. */
export function noAnswer(status: 502 | 504, failure: string): NoAnswer {
  return { answer: { status, body: { error: failure } }, failure }
}
