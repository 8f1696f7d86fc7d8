import { GatewayError } from '../../errors.ts'
import { accessIntent } from './decode-access.ts'
import { decodePaymentHeaders } from './decode-call.ts'
import type { Endpoint, EndpointContext, Mount } from './endpoint.ts'
import { headerOf } from './native-request.ts'

/** Below the base path. It is for people, so that no list of endpoints for programs has it. */
export const PLAN_PAGES = '/x402/plans/'

/** Where a plan is sold to whoever cannot send a body, such as a person's browser. */
export const planPath = (planId: string): string => PLAN_PAGES + encodeURIComponent(planId)

/**
 * `GET /x402/plans/:planId?resourceId=…`: the same as `POST /x402/access` for this plan. A browser that opens it gets the
 * 402 as a page from which a wallet pays.
 */
export function servePlans(planIds: readonly string[]): Mount {
  return (context) =>
    Object.fromEntries(planIds.map((planId) => [planPath(planId), { GET: planEndpoint(context, planId) }]))
}

function planEndpoint(context: EndpointContext, planId: string): Endpoint {
  const { engine, dialects, render, admit, catchFaults, paymentPage } = context
  return (request, peer) => {
    const { spoken, paying } = decodePaymentHeaders(dialects, request)
    const admitted = admit(peer, paying, { spoken })
    if ('status' in admitted) return admitted
    const resourceId = new URL(request.url).searchParams.get('resourceId')
    const body = { planId, ...(resourceId !== null && { resourceId }) }
    const decoded = accessIntent(body, admitted.payment, 'http', headerOf(request, 'idempotency-key'))
    if (decoded.kind !== 'intent') {
      const error =
        decoded.kind === 'fault' ? decoded.error : new GatewayError('INVALID_REQUEST', 'nothing is asked for')
      return render.failure(error, { spoken })
    }
    const { intent } = decoded
    intent.address = peer.address
    const offered = engine.offer(intent)
    const isForPerson = paymentPage?.isWanted(request) === true
    if (offered) {
      const reply = render.outcome(offered, spoken)
      return isForPerson && offered.kind === 'challenge' ? paymentPage.show(reply) : reply
    }
    const { challengeId } = intent
    return catchFaults(
      async () => {
        const outcome = await engine.purchase(intent)
        const reply = render.outcome(outcome, spoken)
        return isForPerson && outcome.kind === 'challenge' ? paymentPage.show(reply) : reply
      },
      { challengeId, spoken },
    )
  }
}
