import type { X402 } from '../../dialects/x402/create-x402.ts'
import type { Engine, Offer, OfferedRail } from '../../engine/outcome.ts'
import { isMetered } from '../../protocol/schemes-sold.ts'
import { parseChallengeId } from '../../rules/challenge-id.ts'
import { unitsToDollars } from '../../rules/token-amount.ts'
import { paidIn } from '../name-networks.ts'

/** What is the same in all terms of this gateway. */
export interface Sale {
  x402: X402
  baseUrl: string
  /** Hashes of plain transfers are taken. */
  transferProofs: boolean
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
  /** Every way to pay, if there are several. The fields above name the preferred one. */
  networks?: PaidOn[]
}

type PaidOn = Pick<X402Challenge, 'amount' | 'asset' | 'network' | 'chainId' | 'destination'> & {
  name: string
}

export function x402Challenge(offer: Offer): X402Challenge {
  const { challengeId, requestId, kind, itemId, resourceId, description, rails } = offer
  const { network, amount } = rails[0]!
  const { name: _name, ...preferred } = paidOn(rails[0]!)
  const parsed = parseChallengeId(challengeId)
  return {
    type: 'X402Challenge',
    challengeId,
    requestId,
    ...(kind === 'plan' ? { planId: itemId } : { routeId: itemId }),
    resourceId,
    ...preferred,
    unitAmount: unitsToDollars(network.token, amount),
    ...(parsed && { expiresAt: new Date(parsed.expiresAt).toISOString() }),
    description,
    ...(rails.length > 1 && { networks: rails.map(paidOn) }),
  }
}

function paidOn({ network, amount, payTo }: OfferedRail): PaidOn {
  const { id, name, chainId, token } = network
  return { amount, asset: token.address, network: id, name, chainId, destination: payTo }
}

export function priceText({ rails, description }: Offer): string {
  const { network, amount } = rails[0]!
  const networks = rails.map((rail) => rail.network)
  const most = rails.some(isMetered) ? 'at most ' : ''
  return `${most}${unitsToDollars(network.token, amount)} in ${paidIn(networks, ({ id }) => id)} for ${description}`
}

export function howToPay({ rails }: Offer): string {
  const signed = rails.some(isMetered) ? 'its maximum, by Permit2' : 'EIP-3009'
  return `Sign accepts[0] of x402.payment.required (${signed}) and send it as x402.payment.payload with x402.payment.status payment-submitted.`
}
