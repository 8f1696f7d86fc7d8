import { askGasPrice } from '../../checks/ask-gas-price.ts'
import { readPlans, readRoutes } from '../../config/check-catalog.ts'
import { readChain, readGasShare } from '../../config/check-network-settings.ts'
import { readSettlement } from '../../config/check-settlement.ts'
import { readPlaces } from '../../config/network-places.ts'
import { createOptionReader } from '../../config/option-reader.ts'
import type { GatewayOptions } from '../../config/options.ts'
import { dollarsToMicro, microToDollars } from '../../protocol/amount.ts'
import { leastPriceMicro } from '../../rules/gas-cost.ts'

/** What is not offered on a network at the moment, because settling it there costs too large a share of its price. */
export interface TooSmall {
  chainId: number
  /** The least price that is offered there: `$0.40`. Null: none is. */
  leastAmount: string | null
  planIds: string[]
  routeIds: string[]
}

const LIMIT_MS = 4_000
const CENT = 10_000

/**
 * Asks every further network what gas costs; one that does not answer is left out, since the live checks report it. The preferred
 * network takes every price, and a facilitator pays the gas itself.
 */
export async function findTooSmall(options: GatewayOptions): Promise<TooSmall[]> {
  const reader = createOptionReader(options, {})
  const share = readGasShare(reader)
  const further = readPlaces(reader, options, {}).slice(1)
  const [plans, routes] = [readPlans(reader), readRoutes(reader)]
  const found = further.map(async (place): Promise<TooSmall[]> => {
    const network = readChain(place)
    if (!network || readSettlement(place)?.kind !== 'gas-wallet') return []
    const gasPriceWei = await askGasPrice(network, LIMIT_MS)
    if (gasPriceWei === undefined) return []
    const least = leastPriceMicro(network, gasPriceWei, share)
    const isTooSmall = ({
      unitAmount,
      maxAmount,
    }: {
      unitAmount?: unknown
      maxAmount?: string | undefined
    }) => {
      const price = typeof unitAmount === 'string' ? unitAmount : maxAmount
      return price !== undefined && Number(dollarsToMicro(price)) < least
    }
    const planIds = plans.filter(isTooSmall).map(({ planId }) => planId)
    const routeIds = routes.filter(isTooSmall).map(({ routeId }) => routeId)
    if (planIds.length + routeIds.length === 0) return []
    return [{ chainId: network.chainId, leastAmount: wordsOf(least), planIds, routeIds }]
  })
  return (await Promise.all(found)).flat()
}

/** Gas prices change all the time, so cents are exact enough. */
function wordsOf(micro: number): string | null {
  if (!Number.isFinite(micro)) return null
  return microToDollars(BigInt(micro < CENT ? micro : Math.ceil(micro / CENT) * CENT))
}
