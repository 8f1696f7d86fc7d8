import { NETWORKS } from '../../src/protocol/networks.ts'
import {
  type BatchGas,
  FULL_BATCH,
  gasLimitOf,
  gasUsedOf,
  largestBatch,
  paymentsPerBlock,
} from './block-gas.ts'
import { PUBLISHED } from './published-limits.ts'
import type { UnitCosts } from './unit-costs.ts'

/** Of the Postgres server that the tables assume. */
export const STORE_CORES = 16

/** Units a second that so many instances carry, each on a core of its own, by what they do and by what one store does for them. */
export function carriedBy(instances: number, { instanceCpuMs, storeCpuMs }: UnitCosts, cores = STORE_CORES) {
  const perInstance = (1000 - instanceCpuMs.idlePerSecond) / instanceCpuMs.each
  const storeMs = cores * 1000 - instances * storeCpuMs.idlePerSecond
  return { byInstances: instances * perInstance, byStore: Math.max(0, storeMs) / storeCpuMs.each }
}

/** With more instances than this, one store is what binds. */
export function instancesPerStore({ instanceCpuMs, storeCpuMs }: UnitCosts, cores = STORE_CORES): number {
  const perInstance = (1000 - instanceCpuMs.idlePerSecond) / instanceCpuMs.each
  return Math.floor((cores * 1000) / (perInstance * storeCpuMs.each + storeCpuMs.idlePerSecond))
}

export interface NetworkCapacity {
  name: string
  /** In one transaction, at most. */
  batch: number
  /** If every block were ours. */
  perSecond: number
  /** As long as its gas price does not rise, if nobody else were there. */
  perSecondAtTarget: number
  /** Gas of a million sales, at the example's price and our table's price of the coin. */
  millionUsd: number
  gasPriceGwei: number
  coinUsd: number
  coin: string
  from: string
  priceFrom: string
}

/** What each network takes, by what it publishes. */
export function networkCapacities(gas: BatchGas): NetworkCapacity[] {
  return NETWORKS.filter(({ testnet }) => !testnet).map(({ word, name, native }) => {
    const limits = PUBLISHED[word]
    if (!limits) throw new Error(`bench/scale/published-limits.ts has no entry for ${word}`)
    const batch = largestBatch(Math.min(limits.blockGas, limits.transactionGas))
    const used = gasUsedOf(gas, batch) / batch
    const charged = limits.chargesLimit ? gasLimitOf(batch) / batch : used
    const perBlock = limits.chargesLimit
      ? Math.floor(limits.blockGas / gasLimitOf(batch)) * batch
      : paymentsPerBlock(limits.blockGas, gas, batch)
    const perSecond = (perBlock * 1000) / limits.blockMs
    return {
      ...{ name, batch, coin: native.symbol, coinUsd: native.usd },
      perSecond,
      perSecondAtTarget: Math.min(perSecond, limits.targetGasPerSecond / charged),
      millionUsd: (charged * 1_000_000 * limits.gasPriceGwei * native.usd) / 1e9,
      ...{ gasPriceGwei: limits.gasPriceGwei, from: limits.from, priceFrom: limits.priceFrom },
    }
  })
}

/** Networks on which a full batch asks for more gas than one transaction may have. */
export const refusesFullBatch = ({ batch }: NetworkCapacity): boolean => batch < FULL_BATCH
