import { gasCostMicro, LEAST_MICRO_PER_GAS } from '../../rules/gas-cost.ts'
import type { OpenRail } from '../rails.ts'

const WEI_PER_GWEI = 1e9

/**
 * What this much gas costs on this rail now, in whole micro-dollars; 0 where somebody else pays it. While the price of
 * gas is not known, it is the most that we pay. Cheap gas counts as if it cost a little more, see `LEAST_MICRO_PER_GAS`.
 */
export async function gasCostOn({ settlement, network }: OpenRail, gas: number): Promise<number> {
  if (settlement.gasWallet === undefined) return 0
  const most = BigInt(Math.round(network.fees.maxGwei * WEI_PER_GWEI))
  const price = await settlement.gasPriceWei?.().catch(() => most)
  return Math.ceil(Math.max(gas * LEAST_MICRO_PER_GAS, gasCostMicro(network, gas, price ?? most)))
}
