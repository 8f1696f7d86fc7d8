import type { McpConnections } from './mcp-connections.ts'
import { openSeller } from './open-seller.ts'
import type { Seller } from './seller.ts'

/** The sellers at the addresses that the user named. */
export interface Sellers {
  /** Those that can be reached. Who could not be before is asked again. */
  open(): Promise<Seller[]>
  describe(): Array<{ url: string; found?: Seller['kind']; fault?: string }>
}

/** Who could not be reached is left alone for a while: a client that asks for one tool must not wait for another seller. */
const ASK_AGAIN_MS = 30_000

export function createSellers(
  urls: readonly string[],
  connections: McpConnections,
  say: (line: string) => void,
): Sellers {
  type Known = { seller?: Seller; fault?: string; asking?: Promise<void> | undefined; askedMs: number }
  const known = new Map<string, Known>(urls.map((url) => [url, { askedMs: Number.NEGATIVE_INFINITY }]))

  async function ask(url: string, entry: Known): Promise<void> {
    try {
      const seller = await openSeller(url, connections)
      entry.seller = seller
      delete entry.fault
      say(`${url}: ${seller.kind}, ${seller.tools.length} tools`)
      for (const fault of seller.faults ?? []) say(`warning: ${url}: ${fault}`)
    } catch (error) {
      const fault = error instanceof Error ? error.message : String(error)
      if (entry.fault !== fault) say(`warning: ${fault}`)
      entry.fault = fault
    }
    entry.askedMs = Date.now()
    entry.asking = undefined
  }

  return {
    async open() {
      for (const [url, entry] of known)
        if (!entry.seller && !entry.asking && Date.now() - entry.askedMs > ASK_AGAIN_MS)
          entry.asking = ask(url, entry)
      await Promise.all([...known.values()].map(({ asking }) => asking))
      return [...known.values()].flatMap(({ seller }) => seller ?? [])
    },
    describe: () =>
      [...known].map(([url, { seller, fault }]) => ({
        url,
        ...(seller && { found: seller.kind }),
        ...(fault !== undefined && { fault }),
      })),
  }
}
