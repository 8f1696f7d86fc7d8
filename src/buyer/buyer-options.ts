import type { BuyerNetwork } from './buyer-networks.ts'
import type { BuyerStep } from './buyer-step.ts'
import type { PaymentStorage } from './payment-storage.ts'
import type { Offer } from './read-offer.ts'
import type { BuyerClock } from './send-until-decided.ts'
import type { BuyerAccount } from './sign-payment.ts'

/**
 * What a buyer pays with, and within which limits.
 *
 * @example
 * import { fileStorage } from 'paystile/buyer'
 * import { privateKeyToAccount } from 'viem/accounts'
 *
 * const options: BuyerOptions = {
 *   account: privateKeyToAccount('0x…'),
 *   maxAmount: '$1.00',
 *   maxTotal: '$20.00',
 *   allowedHosts: ['api.example.com'],
 *   storage: fileStorage('./payments'),
 * }
 */
export interface BuyerOptions {
  /** Who pays: a local account of viem, or anything that signs typed data. */
  account: BuyerAccount
  /** Most that one payment may cost, for example `"$1.00"`. */
  maxAmount: string
  /**
   * Most that all payments of this storage may cost together, for example `"$20.00"`. What was signed counts until the
   * chain shows that it expired unused, or that less was charged; a refund is not deducted. Payments of a buyer that
   * has no `maxTotal` are not counted. Default: no limit.
   */
  maxTotal?: string
  /**
   * What `fetch` does with credits. `"use"`: spends those that this buyer bought, and otherwise pays for the call.
   * `"buy"`: where they are used up, or there are none, it buys the seller's plan of credits, so that a call may cost up
   * to the larger of `maxAmount` and `maxPlanAmount`, never both. `"off"`: neither. Default `"use"`.
   */
  credits?: 'use' | 'buy' | 'off'
  /** With `credits: "buy"`: most that one plan may cost, for example `"$5.00"`. Default: `maxAmount`. `maxTotal` counts it too. */
  maxPlanAmount?: string
  /**
   * Whether metered calls (scheme `upto`) are paid. `"use"`: where the seller offers no fixed price that fits.
   * `"prefer"`: before a fixed price. `"off"`: never. Default `"use"`.
   */
  metered?: 'use' | 'prefer' | 'off'
  /**
   * A metered call needs an approval of the token for Permit2, once. `true`: the buyer approves the maximum of the call
   * where it is missing; `"$5.00"`: it approves this much. That is a transaction: `account` must sign it and hold the
   * chain's coin for gas. Default: it does not, and says what is missing.
   */
  approvePermit2?: boolean | string
  /** The only hosts that may be paid, for example `["api.example.com"]`; redirects among them are followed. Default: whichever the caller names. */
  allowedHosts?: readonly string[]
  /**
   * Where this buyer pays, in order of preference: words (`"base"`), CAIP-2 ids, or chains and tokens that you
   * describe. Default: USDC on every network that paystile knows, in the seller's order, and never test and real money
   * in one offer.
   */
  networks?: ReadonlyArray<string | BuyerNetwork>
  /** Addresses of tokens that `networks` may name although they are not USDC on a chain whose USDC we know. One must be worth a dollar. */
  allowedAssets?: readonly string[]
  /** By CAIP-2 id, for example `{"eip155:8453": "https://…"}`; asked which network holds enough if several are offered, and before a second payment for one request. Default: the network's public RPC. */
  rpcUrls?: Readonly<Record<string, string>>
  /** How long a seller may use a signed payment; no other one for the same request is signed before. Default 120, for metered calls what the seller asks for, up to an hour. */
  validSeconds?: number
  /** Most bytes of an answer that `fetch` hands over. Default 100 MiB. */
  maxResponseBytes?: number
  /** Default: memory. Use `fileStorage` where a crash must not pay twice. */
  storage?: PaymentStorage
  fetch?: typeof fetch
  onStep?(step: BuyerStep): void
  /**
   * Asked before each payment is signed, for example to let a person decide. If it rejects, nothing is signed, and the
   * purchase rejects with the same error. What was signed earlier is sent without asking.
   */
  beforeSign?(offer: Offer): Promise<void>
  /** How long one purchase may wait for its outcome. Default 120. */
  maxWaitSeconds?: number
  /** For tests. */
  clock?: BuyerClock
}
