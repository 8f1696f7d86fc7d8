import type { Order } from '../ports.ts'
import type { AccessGrant } from '../protocol/access.ts'

/** Where a buyer goes with its credential, and where it sees its payment. */
export interface GrantPlaces {
  /** URL with `{resourceId}`, e.g. `https://api.example.com/resource/{resourceId}`. */
  resourceEndpoint: string
  /** The transaction hash is appended, e.g. `https://basescan.org/tx/`. */
  explorerTxUrl: string
}

/** What a credential step hands over; everything else in a grant comes from the order. */
export interface Credential {
  accessToken: string
  /** ISO 8601; absent when it never expires or nobody knows. */
  expiresAt?: string
  /** Where this credential is used, when it differs from the gateway's own template. */
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
    explorerUrl: places.explorerTxUrl + order.txHash,
    ...(credential.expiresAt !== undefined && { expiresAt: credential.expiresAt }),
  }
}

/** The one way to fill the template: a grant's endpoint and a token's audience must be the same text. */
export function resourceEndpointOf(template: string, resourceId: string): string {
  return template.replaceAll('{resourceId}', () => encodeURIComponent(resourceId))
}

/** Routes are sold per call; a credential for one would be access that nobody priced. */
export function planOnlyFault(order: Order): string | undefined {
  return order.kind === 'plan' ? undefined : 'a route has no credential: its result is the call itself'
}
