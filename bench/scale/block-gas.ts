import { GAS_PER_CALL, MAX_CALLS_PER_TX, OVERHEAD_GAS } from '../../src/chain/gas-limits.ts'

/** Payments in one transaction, at most. */
export const FULL_BATCH = MAX_CALLS_PER_TX

/** What a gas wallet asks for: a transaction, and each payment in it. */
export const gasLimitOf = (payments: number): number => OVERHEAD_GAS + payments * GAS_PER_CALL

/** What a transaction really takes grows with its payments. */
export interface BatchGas {
  base: number
  perPayment: number
}

export const gasUsedOf = ({ base, perPayment }: BatchGas, payments: number): number =>
  base + payments * perPayment

/** The straight line through what transactions of different sizes took. */
export function fitBatchGas(seen: ReadonlyArray<{ payments: number; gasUsed: number }>): BatchGas {
  const mean = (values: number[]) => values.reduce((sum, one) => sum + one, 0) / values.length
  const x = mean(seen.map(({ payments }) => payments))
  const y = mean(seen.map(({ gasUsed }) => gasUsed))
  const spread = seen.reduce((sum, { payments }) => sum + (payments - x) ** 2, 0)
  // All of one size: nothing tells the fixed part.
  if (spread === 0) return { base: 0, perPayment: y / x }
  const slope = seen.reduce((sum, one) => sum + (one.payments - x) * (one.gasUsed - y), 0) / spread
  return { base: y - slope * x, perPayment: slope }
}

/**
 * How many payments a block takes, in transactions of `batch` payments: one more is added as long as what it asks for fits into
 * what is left, and then takes up what it used.
 */
export function paymentsPerBlock(blockGas: number, gas: BatchGas, batch: number): number {
  const left = blockGas - gasLimitOf(batch)
  return left < 0 ? 0 : (Math.floor(left / gasUsedOf(gas, batch)) + 1) * batch
}

/** The largest batch that a network takes, where a full one asks for more than a block or a transaction may have. */
export function largestBatch(maxGas: number): number {
  return Math.max(0, Math.min(FULL_BATCH, Math.floor((maxGas - OVERHEAD_GAS) / GAS_PER_CALL)))
}
