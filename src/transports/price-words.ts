import type { DiscoveryCatalog } from '../protocol/catalog.ts'

/** The price of a route as every document and tool tells it. */
export function priceWords({
  unitAmount,
  maxAmount,
  scheme,
}: Pick<DiscoveryCatalog['routes'][number], 'unitAmount' | 'maxAmount' | 'scheme'>): string {
  if (unitAmount !== undefined) return unitAmount
  if (maxAmount === undefined) return 'free'
  return `${scheme === 'upto' ? 'metered' : 'dynamic'}, at most ${maxAmount}`
}
