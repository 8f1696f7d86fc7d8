import type { ResolvedConfig } from '../config/resolved-config.ts'
import type { Engine } from '../engine/outcome.ts'
import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import type { Catalog } from '../rules/catalog.ts'
import type { Mount } from '../transports/http/endpoint.ts'
import { schemasOf } from '../transports/route-schemas.ts'

interface Parts {
  engine: Engine
  discovery: DiscoveryCatalog
  /** The same as it stands now. */
  catalogNow(): DiscoveryCatalog
  catalog: Catalog
  /** The gateway itself answers routes. */
  servesRoutes: boolean
  /** Public keys are published. */
  jwks: boolean
}

/** A2A, MCP and the documents, if they are switched on. The modules of the others are not loaded. */
export async function buildMounts(
  config: ResolvedConfig,
  { engine, discovery, catalogNow, catalog, servesRoutes, jwks }: Parts,
): Promise<{ mounts: Mount[]; idle(): Promise<void> }> {
  const told = { ...config, networks: config.networks.map(({ network }) => network) }
  const schemas = schemasOf(config.routes)
  const a2a =
    config.a2a &&
    (await import('../transports/a2a/create-a2a.ts')).createA2a(
      told,
      config.a2a,
      engine,
      catalogNow,
      servesRoutes,
    )
  const mounts: Mount[] = a2a ? [a2a.mount] : []
  if (config.mcp) {
    const { createMcp } = await import('../transports/mcp/create-mcp.ts')
    mounts.push(createMcp({ ...told, mcp: config.mcp }, { discovery, catalogNow, catalog, schemas }))
  }
  if (config.documents) {
    const { createDocuments } = await import('../transports/onboarding/create-documents.ts')
    mounts.push(createDocuments(told, { discovery, servesRoutes, jwks, schemas }))
  }
  return { mounts, idle: async () => a2a?.idle() }
}
