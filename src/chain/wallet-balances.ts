import type { Address } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import type { ChainClient } from './chain-client.ts'
import { firstFees, gasPolicyOf } from './gas-fees.ts'

/**
 * The gas of the fullest transaction that the gas wallet makes: with less than its cost a wallet cannot settle.
 */
const FULL_TX_GAS = 6_040_000n

/** What one of the seller's wallets is for: to receive payments, to pay gas, or to pay refunds. */
export type WalletRole = 'receives' | 'gas' | 'refund'

/** What one of the seller's wallets holds. `needWei`: what a full transaction may cost now. */
export interface WalletBalance {
  role: WalletRole
  address: Address
  usdcMicro?: bigint
  /** In the network's own coin. */
  ethWei?: bigint
  needWei?: bigint
}

/** The wallets on one network; null if its chain cannot be asked. */
export interface NetworkBalances {
  network: Network
  wallets: WalletBalance[] | null
}

/** Reads all balances at once; rejects if the chain cannot be reached. */
export async function readBalances(
  chain: Pick<ChainClient, 'network' | 'wallet' | 'balanceOf'>,
  wallets: ReadonlyArray<{ role: WalletRole; address: Address }>,
): Promise<WalletBalance[]> {
  const { maxFeePerGasWei } = gasPolicyOf(chain.network)
  return Promise.all(
    wallets.map(async ({ role, address }) => {
      if (role !== 'gas') return { role, address, usdcMicro: await chain.balanceOf(address) }
      const state = await chain.wallet(address)
      const needWei = firstFees(state, maxFeePerGasWei).maxFeePerGas * FULL_TX_GAS
      return { role, address, ethWei: state.balanceWei, needWei }
    }),
  )
}
