import type { Gateway } from '../gateway.ts'
import type { Charged, ChargeRoute } from '../transports/http/charge-route.ts'
import type { Peer } from '../transports/http/safeguards.ts'

/** What the adapters need of a gateway. */
export type EmbeddedGateway = Pick<Gateway, 'fetch' | 'verifyBearer' | 'discovery'> & {
  chargeRoute: ChargeRoute
}

/** The claims of an access token that this gateway sold. */
export type AccessClaims = Extract<
  Awaited<ReturnType<EmbeddedGateway['verifyBearer']>>,
  { ok: true }
>['claims']

/** What a token must have been bought for. */
export interface RequiredAccess {
  /** Default: any plan. */
  planId?: string
  /** Default: the route's path parameter `resourceId`, if it has one. `false`: a token for any resource will do. */
  resourceId?: string | false
  /** The path parameter that names the resource, where it has another name. */
  resourceParam?: string
}

/** Frameworks know the target; scheme and host come from the gateway's own baseUrl, never from here. */
export const ORIGIN = 'http://gateway.invalid'

/** A misspelt id would answer 400 to every buyer; better not to start. */
export function refuseUnknownRoute({ discovery }: EmbeddedGateway, routeId: string): void {
  const route = discovery.routes.find((candidate) => candidate.routeId === routeId)
  if (route?.free)
    throw new Error(`payPerRequest: route ${JSON.stringify(routeId)} is free; leave payPerRequest out.`)
  if (route) return
  const known = discovery.routes.map((candidate) => candidate.routeId)
  const list = known.length > 0 ? `it has ${known.join(', ')}` : 'it has none'
  throw new Error(`payPerRequest: the gateway has no route ${JSON.stringify(routeId)}; ${list}.`)
}

/** The gateway's answer; undefined for a request that is not for the gateway. */
export async function answerOwn(
  { fetch }: EmbeddedGateway,
  request: Request,
  peer: Peer,
): Promise<Response | undefined> {
  // What crawlers may do on the seller's host is the seller's word.
  if (/^[^:]+:\/\/[^/]*\/robots\.txt(\?|$)/.test(request.url)) return undefined
  const response = await fetch(request, peer)
  const foreign = response.status === 404 && response.headers.get('x-svc-code') === 'INVALID_REQUEST'
  return foreign ? undefined : response
}

export type Finish = (status: number) => Promise<void>

/**
 * Makes the function that says, once, how a paid call ended. It rejects when a delivery could not be recorded, and may
 * then be called again: that answer should not go out, for its payment would be refunded as well.
 */
export function finisher({ finish }: Extract<Charged, { kind: 'paid' }>): Finish {
  let told: Promise<void> | undefined
  return (status) => {
    told ??= finish(status).catch((error: unknown) => {
      told = undefined
      throw error
    })
    return told
  }
}

/** The claims of a token that opens this resource, or the 401 for everybody else. `param` reads the route's path. */
export async function checkAccess(
  { verifyBearer }: EmbeddedGateway,
  authorization: string | undefined,
  required: RequiredAccess,
  param: (name: string) => unknown,
): Promise<{ kind: 'open'; claims: AccessClaims } | { kind: 'respond'; response: Response }> {
  const verified = await verifyBearer(authorization, expectedAccess(required, param))
  if (verified.ok) return { kind: 'open', claims: verified.claims }
  const { error } = verified
  const headers = { 'www-authenticate': 'Bearer', 'cache-control': 'no-store', 'x-svc-code': error.code }
  return {
    kind: 'respond',
    response: Response.json(error.toBody(), { status: error.httpStatus, headers }),
  }
}

function expectedAccess(
  { resourceParam, ...expected }: RequiredAccess,
  param: (name: string) => unknown,
): { planId?: string; resourceId?: string } {
  const asked: Record<string, unknown> = { ...expected }
  if (expected.resourceId === false) delete asked.resourceId
  else if (!('resourceId' in expected)) {
    const named = param(resourceParam ?? 'resourceId')
    if (named !== undefined) asked.resourceId = named
    else if (resourceParam !== undefined)
      throw new TypeError(`requireAccess: the path has no parameter ${JSON.stringify(resourceParam)}.`)
  }
  for (const [name, value] of Object.entries(asked)) {
    // A misspelt parameter would be undefined, and undefined would let any token in.
    if (typeof value !== 'string')
      throw new TypeError(`requireAccess: ${name} is ${typeof value}, not a text.`)
  }
  return asked
}
