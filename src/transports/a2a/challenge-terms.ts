import type { X402 } from '../../dialects/x402/create-x402.ts'
import type { Engine, Offer } from '../../engine/outcome.ts'
import { microToDollars } from '../../protocol/amount.ts'
import { parseChallengeId } from '../../rules/challenge-id.ts'

/** What is the same in all terms of this gateway. */
export interface Sale {
  x402: X402
  baseUrl: string
  offerAgain: Engine['offerAgain']
}

/** The data part beside the text: the terms for who does not speak x402. */
export interface X402Challenge {
  type: 'X402Challenge'
  challengeId: string
  requestId: string
  planId?: string
  routeId?: string
  resourceId?: string
  /** Micro-units. */
  amount: string
  unitAmount: string
  asset: string
  network: string
  chainId: number
  destination: string
  expiresAt?: string
  description: string
}

/** It has room for one way to pay: the seller's preferred one. */
export function x402Challenge(offer: Offer): X402Challenge {
  const { challengeId, requestId, kind, itemId, resourceId, description, rails } = offer
  const { network, amount, payTo } = rails[0]!
  const parsed = parseChallengeId(challengeId)
  return {
    type: 'X402Challenge',
    challengeId,
    requestId,
    ...(kind === 'plan' ? { planId: itemId } : { routeId: itemId }),
    resourceId,
    amount,
    unitAmount: microToDollars(BigInt(amount)),
    asset: network.token.address,
    network: network.id,
    chainId: network.chainId,
    destination: payTo,
    ...(parsed && { expiresAt: new Date(parsed.expiresAt).toISOString() }),
    description,
  }
}

export function priceText({ rails, description }: Offer): string {
  const { network, amount } = rails[0]!
  const { id, token } = network
  return `${microToDollars(BigInt(amount))} in ${token.symbol} on ${id} for ${description}`
}
