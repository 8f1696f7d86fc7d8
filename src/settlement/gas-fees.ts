import type { WalletState } from '../ports.ts'

export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const greatest = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** Room for the base fee to double. Where the cap is below the base fee, the transaction waits for better days. */
export function firstFees({ baseFeeWei, priorityFeeWei }: WalletState, capWei: bigint): Fees {
  const maxFeePerGas = least(2n * baseFeeWei + priorityFeeWei, capWei)
  return { maxFeePerGas, maxPriorityFeePerGas: least(priorityFeeWei, maxFeePerGas) }
}

/**
 * A quarter more than before, or what the chain asks now if that is more. Nodes take a replacement only if both
 * fees grow by an eighth; undefined when the cap does not allow that.
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
