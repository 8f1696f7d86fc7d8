import type { DiscoveryCatalog } from '../../protocol/catalog.ts'

/** What directories and clients read before they connect. */
export interface ServerCard {
  name: string
  description: string
  version: string
  transport: { type: 'streamable-http'; url: string }
}

export function describeServer(
  { baseUrl, agentVersion }: { baseUrl: string; agentVersion: string },
  { agentName, description }: DiscoveryCatalog,
): ServerCard {
  const transport = { type: 'streamable-http', url: `${baseUrl}/mcp` } as const
  return { name: agentName, description, version: agentVersion, transport }
}
