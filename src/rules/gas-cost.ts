import type { Network } from '../protocol/network.ts'

/** About what settling one payment takes, its share of the transaction's fixed gas included. */
export const SETTLEMENT_GAS = 80_000

/**
 * What a gas counts at least in the limits of lost gas, in micro-dollars. These limits are given in gas: on a chain
 * where gas is cheap they are just that, and where it is dear fewer of it may be lost.
 */
export const LEAST_MICRO_PER_GAS = 0.2

/** What this much gas costs, in micro-dollars. A rough figure, since the price of the chain's own coin is one. */
export function gasCostMicro({ native }: Pick<Network, 'native'>, gas: number, gasPriceWei: bigint): number {
  // A coin has 10^18 wei, and a dollar 10^6 micro-dollars.
  return (gas * Number(gasPriceWei) * native.usd) / 1e12
}

/** The least price, in micro-dollars, of which the gas of settling it is at most this share. Infinity: there is none. */
export function leastPriceMicro(
  network: Pick<Network, 'native'>,
  gasPriceWei: bigint,
  maxShare: number,
): number {
  const cost = gasCostMicro(network, SETTLEMENT_GAS, gasPriceWei)
  return cost === 0 ? 0 : Math.ceil(cost / maxShare)
}
