import { MAX_NAME, type Seller, type SellerTool, toolName } from './seller.ts'

/**
 * The tools of all sellers under names of their own. A name that several sellers have, or the bridge itself, gets the
 * seller's host in front; what is still the same gets a number.
 */
export function nameTools(sellers: readonly Seller[], taken: readonly string[]): Map<string, SellerTool> {
  const owners = new Map<string, Set<string>>(taken.map((name) => [name, new Set([''])]))
  for (const { url, tools } of sellers)
    for (const { listing } of tools)
      owners.set(listing.name, (owners.get(listing.name) ?? new Set()).add(url))
  const named = new Map<string, SellerTool>()
  for (const { url, tools } of sellers)
    for (const tool of tools) {
      const { name } = tool.listing
      const wanted = owners.get(name)!.size > 1 ? toolName(`${hostWord(url)}_${name}`) : name
      named.set(
        free(wanted, (other) => named.has(other) || taken.includes(other)),
        tool,
      )
    }
  return named
}

const hostWord = (url: string): string =>
  new URL(url).host.replace(/^www\./, '').replace(/[^A-Za-z0-9]+/g, '_')

function free(wanted: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(wanted)) return wanted
  for (let number = 2; ; number++) {
    const name = `${wanted.slice(0, MAX_NAME - 1 - String(number).length)}_${number}`
    if (!isTaken(name)) return name
  }
}
