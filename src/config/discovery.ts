import type { DiscoveryCatalog, SoldOnNetwork } from '../protocol/catalog.ts'
import type { NetworkConfig, ResolvedConfig } from './resolved-config.ts'

/** The part of the configuration that buyers may see: `GET /discover`. */
export function discoveryOf(config: ResolvedConfig): DiscoveryCatalog {
  const [{ network, walletAddress }] = config.networks
  return {
    agentName: config.agentName,
    description: config.agentDescription,
    walletAddress,
    network: network.id,
    chainId: network.chainId,
    asset: network.token.address,
    ...(config.networks.length > 1 && { networks: config.networks.map(describeNetwork) }),
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

function describeNetwork({ network, walletAddress }: NetworkConfig): SoldOnNetwork {
  const { id, name, chainId, token } = network
  return { network: id, name, chainId, asset: token.address, walletAddress }
}
