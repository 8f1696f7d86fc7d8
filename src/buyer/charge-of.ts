import { microToDollars, UintString } from '../protocol/amount.ts'
import { receiptOf } from './answers.ts'
import type { StoredPayment } from './payment-storage.ts'
import { type SignedPermit, signedPermit } from './signed-payment.ts'

/** What a call cost. */
export interface CallCharge {
  /** CAIP-2 id. */
  network: string
  /** The most that was signed, for example `"$0.02"`. For a fixed price, that price. */
  maximum: string
  /** What the seller says that it charged of it, for example `"$0.001858"`. */
  charged: string
  /** Empty where nothing was charged. */
  txHash: string
}

/** The same in numbers. */
export interface Charge {
  maximumMicro: bigint
  chargedMicro: bigint
  txHash: string
  /** A metered call that failed: nothing was charged, and the same payment makes the call again. */
  failed: boolean
}

/** What this answer says about its payment; undefined if it says nothing. */
export function chargeOf(payment: StoredPayment, response: Response): Charge | undefined {
  const receipt = receiptOf(response)
  const permit = signedPermit(payment)
  const maximumMicro = BigInt(payment.amount)
  if (!receipt || (!receipt.success && !permit)) return undefined
  const { transaction: txHash, success } = receipt
  if (!permit) return { maximumMicro, chargedMicro: maximumMicro, txHash, failed: false }
  if (!success) return { maximumMicro, chargedMicro: 0n, txHash: '', failed: true }
  const chargedMicro = microOf(receipt.amount, permit, maximumMicro)
  return { maximumMicro, chargedMicro, txHash, failed: false }
}

/** A seller that does not say it, or says more than was signed, is taken to have charged the maximum: more cannot move. */
function microOf(amount: unknown, { maxUnits }: SignedPermit, maximumMicro: bigint): bigint {
  const read = UintString.safeParse(amount)
  return read.success ? shareOf(BigInt(read.data), maxUnits, maximumMicro) : maximumMicro
}

/** Units of the token in millionths of a dollar, rounded up, by what the maximum is in both. */
export function shareOf(units: bigint, maxUnits: bigint, maximumMicro: bigint): bigint {
  return units >= maxUnits ? maximumMicro : (units * maximumMicro + maxUnits - 1n) / maxUnits
}

export function callCharge({ network }: StoredPayment, charge: Charge): CallCharge {
  return {
    network,
    maximum: microToDollars(charge.maximumMicro),
    charged: microToDollars(charge.chargedMicro),
    txHash: charge.txHash,
  }
}
