import type { NetworkConfig } from '../config/resolved-config.ts'

type Seller = Pick<NetworkConfig, 'network' | 'walletAddress' | 'labels'>

/** Which of the seller's wallets are contracts, as far as the chains have answered. */
export interface WalletCode {
  note(on: Seller, hasCode: boolean): void
  /** What is wrong with the wallet of this network. */
  faultsOf(on: Seller): string[]
}

/**
 * A contract lives on the chains where it was deployed, while the same address elsewhere belongs to nobody: money
 * that is sent there cannot be moved.
 */
export function createWalletCode(networks: readonly Seller[]): WalletCode {
  const known = new Map<string, boolean>()
  return {
    note: ({ network }, hasCode) => void known.set(network.id, hasCode),
    faultsOf({ network, walletAddress, labels }) {
      if (known.get(network.id) !== false) return []
      const contract = networks.find((on) => on.walletAddress === walletAddress && known.get(on.network.id))
      if (!contract) return []
      return [
        `${labels.walletAddress} is ${walletAddress}, which is a contract on ${contract.network.name} and has no code on ${network.name}: money sent to it there could not be moved. Give ${network.name} a wallet of its own, or deploy this one there first.`,
      ]
    },
  }
}
