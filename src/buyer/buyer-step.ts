import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import type { Offer } from './read-offer.ts'

/** The argument of `onStep`, in the order of a purchase. Never contains a signature or a token. */
export type BuyerStep =
  | { step: 'discover'; baseUrl: string; catalog: DiscoveryCatalog }
  /** `reason`: why this offer was chosen, where the seller made several. */
  | { step: 'challenge'; offer: Offer; reason?: string }
  | { step: 'sign'; offer: Offer; validBefore: string }
  /** `attempt` counts from 1; `resumed` says that the payload was signed in an earlier run. */
  | { step: 'send'; attempt: number; resumed: boolean }
  | { step: 'pending'; reason: string; retryInSeconds: number; statusUrl?: string }
  /** A transaction lets Permit2 move this much of the token: once, so that metered calls can be charged. */
  | { step: 'approve'; network: string; asset: string; amountMicro: bigint }
  /** A metered call was answered: the most that was signed, and what the seller says that it charged of it. */
  | { step: 'charged'; maximumMicro: bigint; chargedMicro: bigint; txHash: string }
  | { step: 'granted'; txHash: string; cached: boolean }
  /** A call was made with credits: what it cost, and what is left. */
  | { step: 'debited'; planId: string; charged: number; remaining: number }
  | { step: 'refused'; code: string; message: string }
