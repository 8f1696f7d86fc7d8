import type { AnswerStream, HandlerAnswer, LetOut, Outcome, RouteCall } from '../../engine/outcome.ts'
import { withResolvers } from '../../engine/signals.ts'
import { GatewayError } from '../../errors.ts'
import type { SvcPayment } from '../../protocol/access.ts'
import type { EmbeddedCall } from './charge-credits.ts'
import type { MeteredCharge } from './charged.ts'
import { createLiveAnswer } from './live-answer.ts'
import type { OutcomeRenderer } from './render-outcome.ts'
import { type Reply, toResponse } from './reply.ts'

/** Has the engine redeem a call; `answer` is called if the handler is to run. */
export type PurchaseCall<T> = (
  called: EmbeddedCall,
  answer: NonNullable<RouteCall['answer']>,
  stream?: AnswerStream,
) => Promise<T | Reply>

/**
 * Charges for metered calls of the seller's own handlers. The engine has the handler run inside its walk: its answer and charge are
 * stored, then settled, and only then the answer goes out. Without a handler run it is the reply: a 402, a refusal, or the
 * answer that is stored already. `T`: the call was paid before the route was metered.
 */
export function createMeteredCharge<T extends { kind: string }>(
  purchase: PurchaseCall<T>,
  render: Pick<OutcomeRenderer, 'failure'>,
  maxBytes: number,
  /** Ids of routes whose answers may go out as they come. */
  streams: ReadonlySet<string>,
): (called: EmbeddedCall) => Promise<MeteredCharge | T | Reply> {
  return async (called) => {
    const started = withResolvers<SvcPayment>()
    const answered = withResolvers<HandlerAnswer>()
    let hasStarted = false
    let letOut: LetOut | undefined
    const live = streams.has(called.routeId) ? createLiveAnswer({}) : undefined
    const answer: NonNullable<RouteCall['answer']> = (payment, given) => {
      // If the engine has to claim the payment again, it gets the answer of the same run.
      if (!hasStarted) letOut = given
      hasStarted = true
      started.resolve(payment)
      return answered.promise
    }
    const ended = purchase(called, answer, live?.stream)
    const first = await Promise.race([
      ended.then((end) => ({ end })),
      started.promise.then((payment) => ({ payment })),
    ])
    if (!hasStarted && 'end' in first) return first.end
    const payment = await started.promise
    const reply = ended.then((end) => {
      const last = 'kind' in end ? render.failure(paidElsewhere(payment), { spoken: called.spoken }) : end
      return shownTo(called.request, last)
    })
    const response = (live ? live.firstOf(reply) : reply).then((first) =>
      first instanceof Response ? first : toResponse(first, called.request),
    )
    let overrides: string | undefined
    return {
      kind: 'metered',
      payment,
      maxBytes,
      ...(letOut && { letOut }),
      response,
      charge(amount) {
        // JSON has no undefined and no bigint: the one must be refused as no amount, the other is one.
        overrides = JSON.stringify({ amount: typeof amount === 'bigint' ? String(amount) : (amount ?? null) })
      },
      finish({ status, headers, body }) {
        answered.resolve({ status, headers, body: bytesOf(body), overrides })
        return response
      },
    }
  }
}

/** The answer to a metered call belongs to the seller's own origin, whose own middleware says which pages may read it. */
export function withoutCors(reply: Reply, { kind }: Outcome): Reply {
  if (kind !== 'resource') return reply
  const own = Object.entries(reply.headers).filter(([name]) => !name.startsWith('access-control-'))
  return { ...reply, headers: Object.fromEntries(own) }
}

function bytesOf(body: Uint8Array | string | null): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : (body ?? new Uint8Array())
}

/** The payment was settled by other means while the handler ran: the same request is served as one that is paid. */
function paidElsewhere({ challengeId }: SvcPayment): GatewayError {
  const message = 'This call was paid while it was made; send the same request again.'
  return new GatewayError('SETTLEMENT_PENDING', message, { challengeId })
}

/** HEAD is answered without a body. */
export function shownTo({ method }: Request, reply: Reply): Reply {
  if (method !== 'HEAD') return reply
  const { bytes: _, ...head } = reply
  return { ...head, body: null }
}
