import type { RailState } from '../engine/outcome.ts'
import { dollarsToMicro, microToDollars } from '../protocol/amount.ts'
import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import { NETWORKS } from '../protocol/networks.ts'

/**
 * The catalog with every network as it stands now. The same object is returned until a rail changes, so that whoever
 * serialises it need not do so again. With one network it is the catalog itself.
 */
export function createCatalogNow(
  discovery: DiscoveryCatalog,
  rails: () => readonly RailState[],
): () => DiscoveryCatalog {
  if (!discovery.networks) return () => discovery
  let known: { states: string; catalog: DiscoveryCatalog } | undefined
  return () => {
    const now = rails()
    const states = now
      .map(({ withdrawn, leastAmount }) => `${withdrawn?.reason ?? ''}\n${leastAmount}`)
      .join('\n')
    if (known?.states !== states) known = { states, catalog: catalogOf(discovery, now) }
    return known.catalog
  }
}

function catalogOf(discovery: DiscoveryCatalog, rails: readonly RailState[]): DiscoveryCatalog {
  const least = rails
    .map(({ network, leastAmount }) => ({ network: network.id, micro: BigInt(leastAmount) }))
    .filter(({ micro }) => micro > 0n)
  const on = <T extends { unitAmount?: string; maxAmount?: string }>(item: T) => {
    const most = item.unitAmount ?? item.maxAmount
    if (most === undefined) return item
    const price = dollarsToMicro(most)
    const notOn = least.filter(({ micro }) => price < micro).map(({ network }) => network)
    return notOn.length === 0 ? item : { ...item, notOn }
  }
  return {
    ...discovery,
    networks: discovery.networks!.map((sold) => {
      const withdrawn = rails.find(({ network }) => network.id === sold.network)?.withdrawn
      const bound = least.find(({ network }) => network === sold.network)
      return {
        ...sold,
        available: !withdrawn,
        ...(withdrawn && { reason: withoutUrls(withdrawn.reason) }),
        ...(bound && { minUnitAmount: microToDollars(bound.micro) }),
      }
    }),
    plans: discovery.plans.map(on),
    routes: discovery.routes.map(on),
  }
}

/** Everybody may know them. */
const FAUCETS = new Set(NETWORKS.flatMap(({ faucets }) => Object.values<string>(faucets ?? {})))

/** URLs of nodes and facilitators often contain a key; buyers need none of them. */
export function withoutUrls(text: string): string {
  return text.replace(/\b[a-z]+:\/\/\S+/gi, (url) => (FAUCETS.has(url) ? url : '(URL)'))
}
