import type { Offer } from '../buyer/index.ts'
import { sameHex } from '../protocol/hex.ts'

/** What a person agrees to: how much of which token is paid on which network, how, and to whom. */
export type Terms = Pick<Offer, 'amountMicro' | 'network' | 'scheme' | 'payTo'>

export function termsOf({ amountMicro, network, scheme, payTo }: Offer): Terms {
  return { amountMicro, network, scheme, payTo }
}

/** Is an offer within what was agreed to? It may be cheaper, and differ in nothing else. */
export function isWithin(agreed: Terms, offer: Offer): boolean {
  return (
    offer.amountMicro <= agreed.amountMicro &&
    offer.network.id === agreed.network.id &&
    sameHex(offer.network.asset, agreed.network.asset) &&
    offer.scheme === agreed.scheme &&
    sameHex(offer.payTo, agreed.payTo)
  )
}
