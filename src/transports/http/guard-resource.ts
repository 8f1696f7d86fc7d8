import type { Spoken } from '../../dialects/mpp/spoken.ts'
import type { Forwarded, RouteCall } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { keepFromCaches } from '../../protocol/caching-headers.ts'
import { HTTP_METHODS } from '../../protocol/catalog.ts'
import { parseResourcePath } from '../../rules/resource-path.ts'
import { spokenOf } from './decode-call.ts'
import type { Endpoint, EndpointContext, Methods } from './endpoint.ts'
import { readBytes } from './read-body.ts'
import type { Reply } from './reply.ts'
import { requestTarget } from './request-target.ts'
import type { Peer } from './safeguards.ts'
import type { VerifiedAccess } from './verify-access.ts'

interface Claims {
  /** The resource endpoint that was bought. */
  aud: string
  sub: string
  planId: string
  jti: string
  txHash: string
}

export interface GuardOptions {
  /** Below the base path, with `{resourceId}`. */
  path: string
  realm: string
  /** The resource that a call names, by its path and query; undefined: none. */
  resourceIdOf(target: string): string | undefined
  verifyAccess(
    request: Request,
    expected: { resourceId?: string | undefined },
    peer: Peer,
  ): Promise<VerifiedAccess<Claims>>
  forward(
    call: RouteCall,
    access: { payer: string; planId: string; challengeId: string; txHash: string },
  ): Promise<Forwarded>
}

/**
 * The resource of plans: whoever brings its token, or signs in with the wallet that bought it, is passed on to the backend. The token opens the one address that
 * it was sold for, character by character; a query may be added.
 */
export function createResourceGuard(
  context: EndpointContext,
  { path, realm, resourceIdOf, verifyAccess, forward }: GuardOptions,
): (target: string) => Methods | undefined {
  const { limits, render, admit, passOn } = context
  const shape = new RegExp(`^${path.split('{resourceId}').map(escaped).join('[^/]+')}$`)

  function refuse(
    peer: Peer,
    error: GatewayError,
    sent: boolean,
    spoken: Spoken,
    more?: Record<string, unknown>,
  ): Reply {
    const fault = sent ? ', error="invalid_token"' : ''
    const challenge = { 'www-authenticate': `Bearer realm="${realm}"${fault}` }
    // Only of a 401: a client would throw away a good token when the store cannot be asked about it.
    const headers = error.httpStatus === 401 ? challenge : {}
    return admit(peer, error, { headers, spoken, ...(more && { more }) })
  }

  const endpoint: Endpoint = async (request, peer) => {
    const spoken = spokenOf(request)
    const target = requestTarget(request)
    const sent = request.headers.get('authorization') !== null
    const resourceId = sent ? undefined : resourceIdOf(target)
    const verified = await verifyAccess(request, { resourceId }, peer)
    if (!verified.ok) {
      const { error, extensions } = verified
      return refuse(peer, error, sent, spoken, extensions && { extensions })
    }
    const { claims } = verified
    if (!opens(claims.aud, target)) {
      const message = 'The token was issued for another resource; buy access to this one.'
      return refuse(peer, new GatewayError('UNAUTHORIZED', message), true, spoken)
    }
    const read = await readBytes(request, limits)
    if (read.kind === 'fault') return render.failure(read.error, { httpStatus: read.httpStatus, spoken })
    const call: RouteCall = {
      method: request.method,
      path: target.slice(context.basePath.length),
      headers: Object.fromEntries(request.headers),
      body: read.bytes.length === 0 ? null : read.bytes,
    }
    const { sub: payer, planId, jti: challengeId, txHash } = claims
    // Counted by purchase: its holder must not be stopped by a neighbour at the same address.
    const passed = await passOn(
      challengeId,
      () => forward(call, { payer, planId, challengeId, txHash }),
      spoken,
    )
    // A shared cache would hand it to whoever asks: a wallet that signs in sends no Authorization, which would tell it not to.
    if (passed instanceof Response) keepFromCaches(passed.headers)
    return passed
  }
  const methods = Object.fromEntries(
    HTTP_METHODS.filter((method) => method !== 'HEAD' && method !== 'OPTIONS').map((method) => [
      method,
      endpoint,
    ]),
  )

  return (target) => {
    const parsed = parseResourcePath(target)
    return parsed && shape.test(parsed.pathname) ? methods : undefined
  }
}

/** The very path of the endpoint that was sold; where its query names the resource, the same values, once. */
function opens(audience: string, target: string): boolean {
  const [sold, asked] = [new URL(audience), new URL(target, audience)]
  if (target.split('?')[0] !== sold.pathname) return false
  return [...sold.searchParams].every(([name, value]) => {
    const values = asked.searchParams.getAll(name)
    return values.length === 1 && values[0] === value
  })
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
