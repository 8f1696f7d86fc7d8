import type { Gateway } from '../gateway.ts'
import type { Charged, ChargeRoute } from '../transports/http/charge-route.ts'

/** What the adapters need of a gateway. */
export type EmbeddedGateway = Pick<Gateway, 'fetch' | 'verifyBearer' | 'discovery'> & {
  chargeRoute: ChargeRoute
}

type VerifyBearer = EmbeddedGateway['verifyBearer']
/** The claims of an access token that this gateway sold. */
export type AccessClaims = Extract<Awaited<ReturnType<VerifyBearer>>, { ok: true }>['claims']
/** What the token must have been bought for; whatever is left out is not asked. */
export type ExpectedAccess = NonNullable<Parameters<VerifyBearer>[1]>

export interface PayPerRequestOptions {
  /** Which answers of the handler are no delivery: their payment is refunded. Default: 500 and above. */
  refundOn?: (status: number) => boolean
}

export type PaidCall = Extract<Charged, { kind: 'paid' }>

/** Frameworks know the target; scheme and host come from the gateway's own baseUrl, never from here. */
export const ORIGIN = 'http://gateway.invalid'

/** A misspelt id would answer 400 to every buyer; better not to start. */
export function refuseUnknownRoute({ discovery }: EmbeddedGateway, routeId: string): void {
  const known = discovery.routes.map((route) => route.routeId)
  if (known.includes(routeId)) return
  const list = known.length > 0 ? `it has ${known.join(', ')}` : 'it has none'
  throw new Error(`payPerRequest: the gateway has no route ${JSON.stringify(routeId)}; ${list}.`)
}

/** The gateway's answer; undefined for a request that is not for the gateway. */
export async function answerOwn(
  { fetch }: EmbeddedGateway,
  request: Request,
  peer: { address?: string | undefined },
): Promise<Response | undefined> {
  const response = await fetch(request, peer)
  const foreign = response.status === 404 && response.headers.get('x-svc-code') === 'INVALID_REQUEST'
  return foreign ? undefined : response
}

/**
 * Says how a paid call ended. Rejects when a delivery could not be recorded: the answer should then not go out, for
 * the payment would be refunded as well.
 */
export async function finishWith(
  { finish }: PaidCall,
  status: number,
  { refundOn = (answered) => answered >= 500 }: PayPerRequestOptions,
): Promise<void> {
  if (!refundOn(status)) return finish({ ok: true })
  // Not recorded is not delivered either: the lease runs out and the refund comes all the same.
  await finish({ ok: false, reason: `the handler answered ${status}` }).catch(() => {})
}

/** The claims of a token that opens this resource, or the 401 for everybody else. */
export async function checkAccess(
  { verifyBearer }: EmbeddedGateway,
  authorization: string | undefined,
  expected: ExpectedAccess,
): Promise<{ kind: 'open'; claims: AccessClaims } | { kind: 'respond'; response: Response }> {
  const verified = await verifyBearer(authorization, expected)
  if (verified.ok) return { kind: 'open', claims: verified.claims }
  const { error } = verified
  const headers = { 'www-authenticate': 'Bearer', 'cache-control': 'no-store', 'x-svc-code': error.code }
  return {
    kind: 'respond',
    response: Response.json(error.toBody(), { status: error.httpStatus, headers }),
  }
}
