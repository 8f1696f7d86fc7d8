import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import type { ResolvedConfig } from './resolved-config.ts'

/** The part of the configuration that buyers may see: `GET /discover`. */
export function discoveryOf(config: ResolvedConfig): DiscoveryCatalog {
  return {
    agentName: config.agentName,
    description: config.agentDescription,
    walletAddress: config.walletAddress,
    network: config.network.id,
    chainId: config.network.chainId,
    asset: config.network.token.address,
    plans: config.plans.map(({ planId, unitAmount, description }) => ({
      planId,
      unitAmount,
      ...(description && { description }),
    })),
    routes: config.routes.map(({ routeId, method, path, unitAmount, free, raw, description }) => ({
      routeId,
      method,
      path,
      ...(unitAmount && { unitAmount }),
      ...(free && { free }),
      ...(raw && { raw }),
      ...(description && { description }),
    })),
  }
}
