import type { Backend, Called, Order, RouteCall } from '../ports.ts'
import type { BackendAnswer, ResourceResponse } from '../protocol/access.ts'
import type { Seal } from './seal.ts'

/** What a paid call came to, before it is dressed as a ResourceResponse. */
export type Answered = { answer: BackendAnswer; failure?: string }

export interface Dress {
  seal: Seal
  /** The transaction hash is appended. */
  explorerTxUrl: string
}

/** Makes a Backend of whatever answers calls: an HTTP server, or the seller's own function. */
export function dressedBackend(
  answerCall: (order: Order, call: RouteCall) => Promise<Answered>,
  { seal, explorerTxUrl }: Dress,
): Backend {
  const dress = (order: Order, resource: BackendAnswer): ResourceResponse => ({
    type: 'ResourceResponse',
    challengeId: order.challengeId,
    requestId: order.requestId,
    routeId: order.itemId,
    txHash: order.txHash,
    explorerUrl: `${explorerTxUrl}${order.txHash}`,
    resource,
  })
  return {
    async call(order, call): Promise<Called> {
      const { answer, failure } = await answerCall(order, call)
      const response = dress(order, answer)
      const good = answer.status >= 200 && answer.status < 300
      if (failure !== undefined || !good)
        return { ok: false, response, reason: failure ?? `the backend answered ${answer.status}` }
      return { ok: true, response, sealed: seal.seal(answer, order.challengeId) }
    },
    async open(order, sealed) {
      const answer = seal.open(sealed, order.challengeId)
      return answer === undefined ? undefined : dress(order, answer as BackendAnswer)
    },
  }
}

/** A failure without an answer of the backend's own still gets a status that says whose fault it was. */
export function noAnswer(status: 502 | 504, failure: string): Answered {
  return { answer: { status, body: { error: failure } }, failure }
}
