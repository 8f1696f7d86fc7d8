import { SIGN_IN_WITH_X } from '../../dialects/siwx/read-proof.ts'
import type { Intent, Outcome } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { accessIntent } from './decode-access.ts'
import { decodePaymentHeaders } from './decode-call.ts'
import type { Endpoint, EndpointContext, Mount } from './endpoint.ts'
import { idInQuery } from './id-in-query.ts'
import { headerOf } from './native-request.ts'
import type { Reply } from './reply.ts'
import { createAccessAgain } from './sign-in.ts'

/** Below the base path. It is for people, so that no list of endpoints for programs has it. */
export const PLAN_PAGES = '/x402/plans/'

/** Where a plan is sold to whoever cannot send a body, such as a person's browser. */
export const planPath = (planId: string): string => PLAN_PAGES + encodeURIComponent(planId)

/** A colon need not be encoded in a path, and no other character of an id is. */
const planPaths = (planId: string): string[] => [planPath(planId), PLAN_PAGES + planId]

/**
 * `GET /x402/plans/:planId?resourceId=…`: the same as `POST /x402/access` for this plan. A browser that opens it gets the
 * 402 as a page from which a wallet pays.
 */
export function servePlans(planIds: readonly string[]): Mount {
  return (context) =>
    Object.fromEntries(
      planIds.flatMap((planId) => {
        const GET = planEndpoint(context, planId)
        return planPaths(planId).map((path) => [path, { GET }])
      }),
    )
}

function planEndpoint(context: EndpointContext, planId: string): Endpoint {
  const { engine, dialects, render, admit, catchFaults, paymentPage, signIn, basePath } = context
  // What the terms offer to sign is for that endpoint, which sells the same.
  const accessAgain = signIn && createAccessAgain(signIn, render, `${basePath}/x402/access`)

  async function ownedAlready(request: Request, intent: Intent): Promise<Reply | undefined> {
    const proof = headerOf(request, SIGN_IN_WITH_X)
    return proof === null || intent.payment ? undefined : accessAgain?.(proof, intent)
  }

  return (request, peer) => {
    const { spoken, paying } = decodePaymentHeaders(dialects, request)
    const admitted = admit(peer, paying, { spoken })
    if ('status' in admitted) return admitted
    const resourceId = idInQuery(new URL(request.url).searchParams, 'resourceId')
    if (resourceId instanceof GatewayError) return render.failure(resourceId, { spoken })
    const body = { planId, ...(resourceId !== undefined && { resourceId }) }
    const decoded = accessIntent(body, admitted.payment, 'http', headerOf(request, 'idempotency-key'))
    if (decoded.kind !== 'intent') {
      const error =
        decoded.kind === 'fault' ? decoded.error : new GatewayError('INVALID_REQUEST', 'nothing is asked for')
      return render.failure(error, { spoken })
    }
    const { intent } = decoded
    intent.address = peer.address
    const isForPerson = paymentPage?.isWanted(request) === true
    const replyTo = (outcome: Outcome): Reply => {
      const reply = render.outcome(outcome, spoken)
      return isForPerson && outcome.kind === 'challenge' ? paymentPage.show(reply) : reply
    }
    const { challengeId } = intent
    return catchFaults(
      async () => {
        const owned = await ownedAlready(request, intent)
        return owned ?? replyTo(engine.offer(intent) ?? (await engine.purchase(intent)))
      },
      { challengeId, spoken },
    )
  }
}
