import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import type { McpTool } from './tool.ts'

/** Free: what can be bought here. */
export function discoverPlansTool(discovery: DiscoveryCatalog, networkWord: string): McpTool {
  const { agentName, description, chainId, walletAddress, plans } = discovery
  const catalog = {
    agent: agentName,
    description,
    network: networkWord,
    chainId,
    walletAddress,
    asset: 'USDC',
    plans,
  }
  return {
    listing: {
      name: 'discover_plans',
      title: 'Discover plans',
      description: 'Lists the plans that can be bought here, with their prices in USDC. Free.',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    kind: 'free',
    text: JSON.stringify(catalog),
  }
}
