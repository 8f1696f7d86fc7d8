import type { WalletState } from '../ports.ts'
import type { Network } from '../protocol/network.ts'

export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

/** What transactions of a network may cost, and when one that is not mined gets a higher fee. */
export interface GasPolicy {
  maxFeePerGasWei: bigint
  bumpAfterMs: number
  /** The most that one transaction may ask for, where the chain has a limit of its own. */
  maxTxGas?: number
  /** The coin that pays for gas. */
  symbol: string
  /** Where that coin is free, on a test network. */
  faucet?: string
}

/** A block may be missed or full without any fault of the fee. */
const BUMP_AFTER_MS = 12_000
const BUMP_AFTER_BLOCKS = 3

export function gasPolicyOf({ fees, blockMs, maxTxGas, native, faucets }: Network): GasPolicy {
  return {
    maxFeePerGasWei: weiOf(fees.maxGwei),
    bumpAfterMs: Math.max(BUMP_AFTER_MS, BUMP_AFTER_BLOCKS * blockMs),
    ...(maxTxGas !== undefined && { maxTxGas }),
    symbol: native.symbol,
    ...(faucets && { faucet: faucets.gas }),
  }
}

export const weiOf = (gwei: number): bigint => BigInt(Math.round(gwei * 1e9))

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
export const greatest = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/**
 * Leaves room for the base fee to double. If the cap is below the base fee, the transaction waits until the base fee
 * falls.
 */
export function firstFees({ baseFeeWei, priorityFeeWei }: WalletState, capWei: bigint): Fees {
  const maxFeePerGas = least(2n * baseFeeWei + priorityFeeWei, capWei)
  return { maxFeePerGas, maxPriorityFeePerGas: least(priorityFeeWei, maxFeePerGas) }
}

/**
 * A quarter more than before, or the chain's current fees if those are higher. Nodes accept a replacement only if
 * both fees grow by an eighth; undefined if the cap does not allow that.
 */
export function raisedFees(old: Fees, state: WalletState, capWei: bigint): Fees | undefined {
  const wanted = firstFees(state, capWei)
  const raise = (fee: bigint): bigint => (fee * 5n + 3n) / 4n + 1n
  const maxFeePerGas = least(greatest(raise(old.maxFeePerGas), wanted.maxFeePerGas), capWei)
  const maxPriorityFeePerGas = least(
    greatest(raise(old.maxPriorityFeePerGas), wanted.maxPriorityFeePerGas),
    maxFeePerGas,
  )
  const enough = (now: bigint, before: bigint): boolean => now * 8n >= before * 9n && now > before
  return enough(maxFeePerGas, old.maxFeePerGas) && enough(maxPriorityFeePerGas, old.maxPriorityFeePerGas)
    ? { maxFeePerGas, maxPriorityFeePerGas }
    : undefined
}
