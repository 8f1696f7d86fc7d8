import type { DiscoveryCatalog } from '../../protocol/catalog.ts'

/** What directories and clients read before they connect. */
export interface ServerCard {
  name: string
  description: string
  version: string
  transport: { type: 'streamable-http'; url: string }
  /** Where tools are paid, by CAIP-2 id, if there are several. */
  networks?: string[]
}

export function describeServer(
  { baseUrl, agentVersion }: { baseUrl: string; agentVersion: string },
  { agentName, description, networks }: DiscoveryCatalog,
): ServerCard {
  const transport = { type: 'streamable-http', url: `${baseUrl}/mcp` } as const
  return {
    name: agentName,
    description,
    version: agentVersion,
    transport,
    ...(networks && { networks: networks.map(({ network }) => network) }),
  }
}
