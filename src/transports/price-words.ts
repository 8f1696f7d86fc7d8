import type { DiscoveryCatalog } from '../protocol/catalog.ts'

/** The price of a route as every document and tool tells it. */
export function priceWords({
  unitAmount,
  maxAmount,
}: Pick<DiscoveryCatalog['routes'][number], 'unitAmount' | 'maxAmount'>): string {
  return unitAmount ?? (maxAmount === undefined ? 'free' : `dynamic, at most ${maxAmount}`)
}
