import type { ChallengeRow, Subject } from '../facts.ts'
import type { Address } from '../protocol/hex.ts'
import { sha256 } from './sha256.ts'

/** What a challenge is worth and for what: the facts its id proves. */
export interface Terms {
  kind: 'plan' | 'route'
  itemId: string
  resourceId: string
  resource: { method: string; path: string } | null
  /** Hash of method, path with query, and body; empty for plans. */
  resourceHash: string
  amount: string
  asset: Address
  network: string
  payTo: Address
  requestId: string
}

export function resourceHash(subject: Subject): string {
  if (subject.kind === 'plan') return ''
  const { method, path, bodyHash } = subject.resource
  return sha256(JSON.stringify([method, path, bodyHash]))
}

export function bodyHashOf(body: Uint8Array | null): string {
  return body === null || body.length === 0 ? '' : sha256(body)
}

/** The same requestId with another fingerprint is another purchase, and is refused. */
export function fingerprint(terms: Pick<Terms, 'kind' | 'itemId' | 'resourceId' | 'resourceHash'>): string {
  return sha256(JSON.stringify([terms.kind, terms.itemId, terms.resourceId, terms.resourceHash]))
}

export function termsOf(
  subject: Subject,
  price: { amount: string; asset: Address; network: string; payTo: Address },
  requestId: string,
): Terms {
  return {
    kind: subject.kind,
    itemId: subject.kind === 'plan' ? subject.planId : subject.routeId,
    resourceId: subject.resourceId,
    resource:
      subject.kind === 'route' ? { method: subject.resource.method, path: subject.resource.path } : null,
    resourceHash: resourceHash(subject),
    amount: price.amount,
    asset: price.asset,
    network: price.network,
    payTo: price.payTo,
    requestId,
  }
}

/** A challenge that has never been stored: version 0. */
export function newChallenge(
  terms: Terms,
  known: Pick<ChallengeRow, 'key' | 'transport' | 'createdAt' | 'expiresAt' | 'clientAgentId'>,
): ChallengeRow {
  // Field by field: spreading took a tenth of a 402's time here.
  return {
    key: known.key,
    requestId: terms.requestId,
    transport: known.transport,
    kind: terms.kind,
    itemId: terms.itemId,
    resourceId: terms.resourceId,
    resource: terms.resource,
    fingerprint: fingerprint(terms),
    amount: terms.amount,
    network: terms.network,
    asset: terms.asset,
    payTo: terms.payTo,
    clientAgentId: known.clientAgentId,
    createdAt: known.createdAt,
    expiresAt: known.expiresAt,
    version: 0,
    ref: null,
    dueAt: known.expiresAt,
    state: 'PENDING',
    claimed: false,
    liveAuth: null,
    receipt: null,
    payer: null,
    txHash: null,
    paidAt: null,
    leaseUntil: null,
    deliveryTries: 0,
    failure: null,
    result: null,
    refundTxHash: null,
  }
}
