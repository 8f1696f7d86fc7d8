import type { Order } from '../ports.ts'
import type { AccessGrant } from '../protocol/access.ts'

/** URLs in a grant: where the credential is used, and where the payment can be seen. */
export interface GrantPlaces {
  /** URL with `{resourceId}`, e.g. `https://api.example.com/resource/{resourceId}`. */
  resourceEndpoint: string
  /** The transaction hash is appended, e.g. `https://basescan.org/tx/`. */
  /** The start of a transaction's page on the explorer of a network. */
  explorerTxUrl(networkId: string): string
}

/** What a credential step returns; everything else in a grant comes from the order. */
export interface Credential {
  accessToken: string
  /** ISO 8601; absent if it never expires or the expiry is not known. */
  expiresAt?: string
  /** Where this credential is used, if it differs from the gateway's template. */
  resourceEndpoint?: string
}

export function buildGrant(order: Order, credential: Credential, places: GrantPlaces): AccessGrant {
  return {
    type: 'AccessGrant',
    challengeId: order.challengeId,
    requestId: order.requestId,
    accessToken: credential.accessToken,
    tokenType: 'Bearer',
    resourceEndpoint:
      credential.resourceEndpoint ?? resourceEndpointOf(places.resourceEndpoint, order.resourceId),
    resourceId: order.resourceId,
    planId: order.itemId,
    txHash: order.txHash,
    explorerUrl: places.explorerTxUrl(order.network) + order.txHash,
    ...(credential.expiresAt !== undefined && { expiresAt: credential.expiresAt }),
  }
}

/** Fills the template. Used for both the endpoint of a grant and the audience of a token, which must be equal. */
export function resourceEndpointOf(template: string, resourceId: string): string {
  return template.replaceAll('{resourceId}', () => encodeURIComponent(resourceId))
}

/** The resource that a call (path and query) of such an endpoint names; undefined: none. */
export function resourceIdAt(template: string, target: string): string | undefined {
  const mark = 'PaystileResourceId'
  const place = new URL(resourceEndpointOf(template, mark))
  const asked = new URL(target, place.origin)
  const named = [...place.searchParams].find(([, value]) => value === mark)
  if (named) return asked.searchParams.get(named[0]) ?? undefined
  const [before = '', after = ''] = place.pathname.split(mark)
  const { pathname } = asked
  if (!place.pathname.includes(mark) || !pathname.startsWith(before) || !pathname.endsWith(after))
    return undefined
  try {
    return decodeURIComponent(pathname.slice(before.length, pathname.length - after.length))
  } catch {
    return undefined
  }
}

/** Refuses orders of routes: routes are sold per call, and a credential would give access that has no price. */
export function planOnlyFault(order: Order): string | undefined {
  return order.kind === 'plan' ? undefined : 'a route has no credential: its result is the call itself'
}
