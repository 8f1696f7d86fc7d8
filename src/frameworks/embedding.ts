import type { AdminGateway, AdminOptions } from '../embedded-admin/admin-options.ts'
import { ConfigError, GatewayError } from '../errors.ts'
import type { AccessClaims, Gateway } from '../gateway-api.ts'
import type { SvcPayment } from '../protocol/access.ts'
import { IdString } from '../protocol/catalog.ts'
import { optionFaults } from '../protocol/option-faults.ts'
import type { Charged, SvcCharge } from '../transports/http/charged.ts'
import { bodyFor } from '../transports/http/problem-body.ts'
import type { Peer } from '../transports/http/safeguards.ts'
import type { AccessHead } from '../transports/http/verify-access.ts'
import { headerIn } from './raw-headers.ts'

export type { AccessClaims, AdminGateway, AdminOptions, SvcCharge, SvcPayment }

/** What the adapters need of a gateway. */
export type EmbeddedGateway = Pick<Gateway, 'handle' | 'chargeRoute' | 'verifyAccess' | 'discovery'>

/** What shows people what is sold. */
export type ShopGateway = Pick<Gateway, 'shopWindow'>

/** What a token must have been bought for. */
export interface RequiredAccess {
  /** Default: any plan. */
  planId?: string
  /** Default: the route's path parameter `resourceId`, if it has one. `false`: a token for any resource will do. */
  resourceId?: string | false
  /** The path parameter that names the resource, where it has another name. */
  resourceParam?: string
}

const REQUIRED_ACCESS = Object.keys({
  planId: true,
  resourceId: true,
  resourceParam: true,
} satisfies Record<keyof RequiredAccess, true>)

/** A call that may be answered. */
export type Paid = Extract<Charged, { kind: 'paid' }>

/** Frameworks know the target; scheme and host come from the gateway's own baseUrl, never from here. */
export const ORIGIN = 'http://gateway.invalid'

/**
 * Without `await` before createGateway there is a promise instead, and every request would fail. `member`: what the caller
 * needs of it.
 */
export function refuseNoGateway<G extends object>(caller: string, gateway: G, member: keyof G): void {
  if (typeof gateway === 'object' && gateway !== null && member in gateway) return
  throw new ConfigError([`${caller}: give it the gateway itself: await createGateway(…)`])
}

/** A misspelt id would answer 400 to every buyer; better not to start. */
export function refuseUnknownRoute(gateway: EmbeddedGateway, routeId: string): void {
  refuseNoGateway('payPerRequest', gateway, 'chargeRoute')
  const { discovery } = gateway
  const route = discovery.routes.find((candidate) => candidate.routeId === routeId)
  if (route && !route.free) return
  const refuse = (why: string) => new GatewayError('ROUTE_NOT_FOUND', `payPerRequest: ${why}.`)
  if (route) throw refuse(`route ${JSON.stringify(routeId)} is free; leave payPerRequest out`)
  const known = discovery.routes.map((candidate) => candidate.routeId)
  const list = known.length > 0 ? `it has ${known.join(', ')}` : 'it has none'
  throw refuse(`the gateway has no route ${JSON.stringify(routeId)}; ${list}`)
}

/**
 * Makes the function that says what a request must bring, of what `requireAccess` was given. A misspelt option would let
 * tokens in that it was to keep out; better not to start.
 */
export function accessAsker<Req>(
  gateway: EmbeddedGateway,
  given: RequiredAccess | ((request: Req) => RequiredAccess),
): (request: Req) => RequiredAccess {
  const checked = (required: RequiredAccess): RequiredAccess => {
    const faults = optionFaults(required, REQUIRED_ACCESS)
    // What is no id was never sold. Another id may be that of a former plan, whose tokens are good until they expire.
    const id = IdString.optional().safeParse(required?.planId)
    if (!id.success) faults.push(`planId ${id.error.issues[0]!.message}`)
    if (faults.length > 0) throw new ConfigError(faults.map((fault) => `requireAccess: ${fault}`))
    return required
  }
  refuseNoGateway('requireAccess', gateway, 'verifyAccess')
  if (typeof given === 'function') return (request) => checked(given(request))
  const required = checked(given)
  return () => required
}

/**
 * Makes the function that says, once, how a paid call ended. It rejects when a delivery could not be recorded, and may
 * then be called again: that answer should not go out, for its payment would be refunded as well.
 */
export function finisher({ finish }: Paid): Paid['finish'] {
  let told: Promise<void> | undefined
  return (status) => {
    told ??= finish(status).catch((error: unknown) => {
      told = undefined
      throw error
    })
    return told
  }
}

/** A request whose headers are those of node:http; `target` is its whole path with query. */
export function headOf(target: string, { rawHeaders }: { rawHeaders: readonly string[] }): AccessHead {
  return { url: `${ORIGIN}${target}`, headers: { get: (name) => headerIn(rawHeaders, name) } }
}

/**
 * The claims of a token that opens this resource, or of the wallet that bought one and signs in; the 401 for everybody
 * else, which says how to sign in. `param` reads the route's path.
 */
export async function checkAccess(
  { verifyAccess }: EmbeddedGateway,
  request: AccessHead,
  required: RequiredAccess,
  param: (name: string) => unknown,
  peer: Peer,
): Promise<{ kind: 'open'; claims: AccessClaims } | { kind: 'respond'; response: Response }> {
  const verified = await verifyAccess(request, expectedAccess(required, param), peer)
  if (verified.ok) return { kind: 'open', claims: verified.claims }
  const { error, extensions } = verified
  const { httpStatus: status, code, details } = error
  const sent = (name: string) => ({ [name]: request.headers.get(name) ?? undefined })
  const { contentType, text } = bodyFor(
    { ...error.toBody(), ...(extensions && { extensions }) },
    { ...sent('authorization'), ...sent('payment-authorization') },
  )
  const headers = {
    'content-type': contentType,
    'cache-control': 'no-store',
    'x-svc-code': code,
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...(details.retryAfterSeconds !== undefined && { 'retry-after': String(details.retryAfterSeconds) }),
  }
  return { kind: 'respond', response: new Response(text, { status, headers }) }
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
