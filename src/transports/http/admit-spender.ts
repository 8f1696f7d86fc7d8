import type { Spoken } from '../../dialects/mpp/spoken.ts'
import { SIGN_IN_WITH_X } from '../../dialects/siwx/read-proof.ts'
import type { Outcome } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { type Admit, WITHOUT_PAYMENT } from './admit.ts'
import type { CallHeaders } from './decode-call.ts'
import { headerOf } from './native-request.ts'
import { isBearer, RESOURCE_ID_HEADER, type ReadSpender, type Spending } from './read-spender.ts'
import type { FailureContext, OutcomeRenderer } from './render-outcome.ts'
import type { Reply } from './reply.ts'
import { requestTarget } from './request-target.ts'
import type { Peer } from './safeguards.ts'
import type { SignIn } from './sign-in.ts'

type Failed = Extract<Outcome, { kind: 'failed' }>
export type Challenge = Extract<Outcome, { kind: 'challenge' }>

/** Lets those spend who hold credits, on a route that takes them. */
export interface SpenderAdmission {
  /** Who spends, or the reply to whoever may not; undefined: the request pays, or asks for the terms. */
  admitSpender(
    request: Request,
    peer: Peer,
    said: { spoken: Spoken; asked: CallHeaders | GatewayError },
  ): Promise<Spending | Reply> | undefined
  /** The reply to a spender whose call was not made: 401 and 402 also say how a wallet signs in. */
  refuse(request: Request, peer: Peer, failed: Failed, spoken: Spoken): Reply
  /**
   * The reply to whoever asks for the terms: its body also says what a wallet that holds credits may sign instead of paying.
   * Its header, where official clients look, says so to those who name a resource: directories read the header too, and
   * take a call with such an offer for one that cannot be paid.
   */
  challenge(request: Request, challenge: Challenge, spoken: Spoken): Reply
}

const pathOf = (request: Request): string => requestTarget(request).split('?')[0]!

export function createSpenderAdmission(
  readSpender: ReadSpender,
  { admit, render, signIn }: { admit: Admit; render: OutcomeRenderer; signIn?: SignIn | undefined },
): SpenderAdmission {
  function unauthorized(request: Request, { httpStatus }: GatewayError, spoken: Spoken): FailureContext {
    if (httpStatus !== 401) return { spoken }
    const byToken = isBearer(headerOf(request, 'authorization'))
    const headers = { 'www-authenticate': byToken ? 'Bearer error="invalid_token"' : SIGN_IN_WITH_X }
    return { headers, spoken, ...offering(request) }
  }

  /** On the first rail's network alone: official clients sign for that one. */
  function inHeader(request: Request, { offer }: Challenge): string | undefined {
    if (!signIn || headerOf(request, RESOURCE_ID_HEADER) === null) return undefined
    const networks = offer.rails.slice(0, 1).map(({ network }) => network.id)
    return JSON.stringify(signIn.offer(pathOf(request), networks)).slice(1, -1)
  }

  const offering = (request: Request) =>
    signIn ? { more: { extensions: signIn.offer(pathOf(request)) } } : {}

  async function admitToken(
    reading: Promise<Spending | GatewayError>,
    request: Request,
    peer: Peer,
    spoken: Spoken,
  ): Promise<Spending | Reply> {
    const spender = await reading
    // Whoever cannot spend counts as a request without payment; whoever spends does not.
    if (!(spender instanceof GatewayError)) return spender
    return admit(peer, spender, unauthorized(request, spender, spoken))
  }

  /** A proof costs more to check than a token, and its sender nothing: it counts as a request without payment. */
  async function admitWallet(
    proof: string,
    request: Request,
    peer: Peer,
    spoken: Spoken,
  ): Promise<Spending | Reply> {
    const admitted = admit(peer, WITHOUT_PAYMENT, { spoken })
    if ('status' in admitted) return admitted
    const resourceId = headerOf(request, RESOURCE_ID_HEADER)
    const spender = await readSpender({ authorization: null, proof, resourceId }, pathOf(request))!
    if (!(spender instanceof GatewayError)) return spender
    return render.failure(spender, unauthorized(request, spender, spoken))
  }

  return {
    admitSpender(request, peer, { spoken, asked }) {
      // HEAD buys nothing, and a request that also pays is a payment.
      if (asked instanceof GatewayError || asked.payment || request.method === 'HEAD') return undefined
      const byToken = readSpender({ authorization: headerOf(request, 'authorization') }, pathOf(request))
      if (byToken) return admitToken(byToken, request, peer, spoken)
      const proof = signIn ? headerOf(request, SIGN_IN_WITH_X) : null
      return proof === null ? undefined : admitWallet(proof, request, peer, spoken)
    },
    refuse(request, peer, { error, offer }, spoken) {
      if (error.httpStatus === 401) return admit(peer, error, unauthorized(request, error, spoken))
      return render.failure(error, {
        ...{ offer, spoken, termsInBody: true },
        ...(offer && offering(request)),
      })
    },
    challenge(request, challenge, spoken) {
      const reply = render.outcome(challenge, spoken, inHeader(request, challenge))
      const { body } = reply
      // A challenge ends with its extensions.
      if (!signIn || body === null || !body.endsWith('}}')) return reply
      const offered = JSON.stringify(signIn.offer(pathOf(request)))
      return { ...reply, body: `${body.slice(0, -2)},${offered.slice(1)}}` }
    },
  }
}
