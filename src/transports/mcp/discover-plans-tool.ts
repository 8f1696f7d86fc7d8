import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import type { Network } from '../../protocol/network.ts'
import { paidIn } from '../name-networks.ts'
import type { McpTool } from './tool.ts'

/** Free: what can be bought here. */
export function discoverPlansTool(catalogNow: () => DiscoveryCatalog, networks: readonly Network[]): McpTool {
  const prices = networks.length > 1 ? paidIn(networks) : 'USDC'
  let known: { of: DiscoveryCatalog; text: string } | undefined
  return {
    listing: {
      name: 'discover_plans',
      title: 'Discover plans',
      description: `Lists the plans that can be bought here, with their prices in ${prices}. Free.`,
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    kind: 'free',
    text() {
      const now = catalogNow()
      if (known?.of !== now) known = { of: now, text: JSON.stringify(plansOf(now, networks)) }
      return known.text
    },
  }
}

function plansOf(discovery: DiscoveryCatalog, networks: readonly Network[]) {
  const { agentName, description, chainId, walletAddress, plans } = discovery
  const { word, aliases, token } = networks[0]!
  return {
    agent: agentName,
    description,
    network: aliases[0] ?? word,
    chainId,
    walletAddress,
    asset: token.symbol,
    ...(discovery.networks && { networks: discovery.networks }),
    plans,
  }
}
