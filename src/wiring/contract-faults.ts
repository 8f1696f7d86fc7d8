import type { NetworkConfig } from '../config/resolved-config.ts'

/**
 * A contract lives on the chains where it was deployed, while the same address elsewhere belongs to nobody: money
 * that is sent there cannot be moved. `hasCode` is undefined where the chain could not be asked.
 */
export function contractFaults(
  found: ReadonlyArray<{
    on: Pick<NetworkConfig, 'network' | 'walletAddress' | 'labels'>
    hasCode: boolean | undefined
  }>,
): string[] {
  return found.flatMap(({ on: { network, walletAddress, labels }, hasCode }) => {
    if (hasCode !== false) return []
    const contract = found.find((other) => other.on.walletAddress === walletAddress && other.hasCode)
    if (!contract) return []
    return [
      `${labels.walletAddress} is ${walletAddress}, which is a contract on ${contract.on.network.name} and has no code on ${network.name}: money sent to it there could not be moved. Give ${network.name} a wallet of its own, or deploy this one there first.`,
    ]
  })
}
