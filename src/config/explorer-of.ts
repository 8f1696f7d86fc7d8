import type { ResolvedConfig } from './resolved-config.ts'

/** The start of a transaction's page on the explorer of a network; that of the preferred one if it is not configured. */
export function explorerOf({ networks }: Pick<ResolvedConfig, 'networks'>): (networkId: string) => string {
  const urls = new Map(networks.map(({ network }) => [network.id, network.explorerTxUrl]))
  return (networkId) => urls.get(networkId) ?? networks[0].network.explorerTxUrl
}
