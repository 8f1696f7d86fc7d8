import { randomBytes } from 'node:crypto'
import type { Dossier } from '../../engine/outcome.ts'
import { microToDollars } from '../../protocol/amount.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import type { Network } from '../../protocol/network.ts'
import type { PaymentRequired } from '../../protocol/payment.ts'
import { parseChallengeId } from '../../rules/challenge-id.ts'
import { paymentRequired } from '../../rules/requirements.ts'

/** What is the same in all terms of this gateway. */
export interface Sale {
  network: Network
  baseUrl: string
  discovery: Pick<DiscoveryCatalog, 'plans' | 'routes'>
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

export function x402Challenge(required: PaymentRequired, { chainId }: Network): X402Challenge {
  const { amount, asset, network, payTo, extra } = required.accepts[0]!
  const { planId, routeId, resourceId, description } = extra
  const parsed = parseChallengeId(required.challengeId)
  return {
    type: 'X402Challenge',
    challengeId: required.challengeId,
    requestId: required.requestId,
    ...(planId !== undefined && { planId }),
    ...(routeId !== undefined && { routeId }),
    ...(resourceId !== undefined && { resourceId }),
    amount,
    unitAmount: microToDollars(BigInt(amount)),
    asset,
    network,
    chainId,
    destination: payTo,
    ...(parsed && { expiresAt: new Date(parsed.expiresAt).toISOString() }),
    description,
  }
}

/** The terms of a stored challenge once more, under a salt of their own like every other 402. */
export function termsAgain(challenge: Dossier['challenge'], sale: Sale, error: string): PaymentRequired {
  const { plans, routes } = sale.discovery
  const item =
    challenge.kind === 'plan'
      ? plans.find(({ planId }) => planId === challenge.itemId)
      : routes.find(({ routeId }) => routeId === challenge.itemId)
  const description = item?.description ?? challenge.itemId
  return paymentRequired(challenge, sale, description, randomBytes(16).toString('base64url'), error)
}

export function priceText(required: PaymentRequired): string {
  const { amount, network, extra } = required.accepts[0]!
  return `${microToDollars(BigInt(amount))} in USDC on ${network} for ${extra.description}`
}
