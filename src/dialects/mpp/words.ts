import type { Offer } from '../../engine/outcome.ts'

/** The payment method and intent of MPP that we sell by: an EIP-3009 authorization, once. */
export const METHOD = 'evm'
export const INTENT = 'charge'

/** The request headers that may carry a credential; the second is for requests whose `Authorization` is a bearer token. */
export const AUTHORIZATION = 'authorization'
export const PAYMENT_AUTHORIZATION = 'payment-authorization'
export const ACCEPT_PAYMENT = 'accept-payment'
export const RECEIPT_HEADER = 'payment-receipt'

/** An authorization may be valid for an hour at most, and MPP's clients make it valid until the challenge expires. */
export const MAX_EXPIRY_MS = 50 * 60_000

/** What a challenge asks: `request` of MPP's `evm` method. */
export interface ChargeRequest {
  /** In units of the token. */
  amount: string
  currency: string
  methodDetails: { chainId: number; credentialTypes: ['authorization']; decimals: number }
  recipient: string
}

/** Keys in the order of canonical JSON (RFC 8785), here and below. */
export function chargeRequest({ network, amount, payTo }: Offer['rails'][number]): ChargeRequest {
  const { address: currency, decimals } = network.token
  return {
    amount,
    currency,
    methodDetails: { chainId: network.chainId, credentialTypes: ['authorization'], decimals },
    recipient: payTo,
  }
}

/**
 * `opaque`: what our own challenge needs to be found again; clients repeat it unchanged. Ids have no character that JSON
 * escapes or that base64 and base64url write differently, so `btoa` does: a sixth of the time that Buffer takes, which
 * saves 1.4 µs of the 46 of a 402.
 */
export function opaqueOf({ kind, itemId, requestId, resourceId }: Offer): string {
  const [first, last] = kind === 'plan' ? [`"planId":"${itemId}",`, ''] : ['', `,"routeId":"${itemId}"`]
  const text = btoa(`{${first}"requestId":"${requestId}","resourceId":"${resourceId}"${last}}`)
  return text.endsWith('==') ? text.slice(0, -2) : text.endsWith('=') ? text.slice(0, -1) : text
}

/**
 * `id` of a challenge on the n-th rail of an offer. What follows the first dot is the salt: the token is charged under
 * a nonce that anybody can compute from the id, so only the buyer may know the id.
 */
export function idOn({ challengeId, salt, rails }: Offer, index: number): string {
  return index === 0 ? `${challengeId}.${salt}` : `${challengeId}.${salt}.${rails[index]!.network.chainId}`
}

export const encodeUrl = (value: unknown): string =>
  Buffer.from(JSON.stringify(value), 'utf8').toString('base64url')
