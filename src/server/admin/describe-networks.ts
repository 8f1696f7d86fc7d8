import type { Backstage } from '../../backstage.ts'
import { microToDollars } from '../../protocol/amount.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { withoutUrls } from '../../transports/catalog-now.ts'
import type { SaleFigures } from './sale-figures.ts'

type PerNetwork = ReturnType<SaleFigures['report']>['revenue']['perNetwork']

/**
 * Every network of a seller on several: how its rail stands, and what was sold on it. Networks that are sold on no
 * longer, but were in this time, come last.
 */
export function describeNetworks(
  { networks, rails }: Pick<Backstage, 'networks' | 'rails'>,
  perNetwork: PerNetwork,
) {
  const states = rails()
  const soldOn = (id: string) => {
    const { sold, micro, usd } = perNetwork.find(({ network }) => network === id) ?? NOTHING
    return { sold, micro, usd }
  }
  const configured = networks.map(({ id, name, token, native }) => {
    const { withdrawn, leastAmount } = states.find(({ network }) => network.id === id) ?? OFFERED
    return {
      ...{ network: id, name, token: token.symbol, coin: native.symbol, configured: true },
      withdrawn: withdrawn && {
        reason: withoutUrls(withdrawn.reason),
        since: new Date(withdrawn.since).toISOString(),
      },
      leastUsd: leastAmount === '0' ? null : microToDollars(BigInt(leastAmount)),
      ...soldOn(id),
    }
  })
  const before = perNetwork
    .filter(({ network }) => networks.every(({ id }) => id !== network))
    .map(({ network: id }) => {
      const known = findNetwork(id)
      return {
        ...{ network: id, name: known?.name ?? id, token: known?.token.symbol ?? '' },
        ...{ coin: known?.native.symbol ?? '', configured: false, withdrawn: null, leastUsd: null },
        ...soldOn(id),
      }
    })
  return [...configured, ...before]
}

const NOTHING = { sold: 0, micro: '0', usd: '$0.00' }
const OFFERED = { withdrawn: null, leastAmount: '0' }
