import type { Offer } from '../../engine/outcome.ts'
import { OFFER_RECEIPT, type OfferTerms } from '../../protocol/receipts.ts'
import { resourceUrl } from '../../rules/resource-url.ts'
import type { OfferExtension } from './challenge-extensions.ts'

/**
 * How long the signatures may be together, in characters of JSON, for an offer with this many rails: every entry of
 * `accepts` takes room in the same header, and all headers of a 402 together stay below 8 KiB.
 */
const roomFor = (rails: number): number => 2_900 - 450 * rails

/**
 * The longest address of a call whose offer is signed. The signature repeats it, and comes back with the payment, of which no more
 * than 8 KiB are read.
 */
const MAX_URL = 1024

/**
 * Signs the entries of `accepts`, in their order: the first one in any case, the others as long as there is room for them.
 * A signature takes longer than the rest of a 402, so this is an option that is off by default.
 */
export function signedOffers(sign: (terms: OfferTerms) => string, baseUrl: string): OfferExtension {
  return (offer) => {
    if (resourceUrl(baseUrl, offer).length > MAX_URL) return undefined
    let room = roomFor(offer.rails.length)
    const signed: string[] = []
    for (const [acceptIndex, rail] of offer.rails.entries()) {
      const signature = sign(termsOf(offer, rail, baseUrl))
      room -= signature.length
      if (acceptIndex > 0 && room < 0) break
      signed.push(JSON.stringify({ format: 'jws', acceptIndex, signature }))
    }
    return `"${OFFER_RECEIPT}":{"info":{"offers":[${signed.join(',')}]},"schema":{}}`
  }
}

function termsOf(offer: Offer, rail: Offer['rails'][number], baseUrl: string): OfferTerms {
  const { network, scheme, amount, payTo } = rail
  return {
    version: 1,
    resourceUrl: resourceUrl(baseUrl, offer),
    scheme,
    network: network.id,
    asset: network.token.address,
    payTo,
    amount,
    validUntil: Math.floor(offer.expiresAt / 1000),
  }
}
