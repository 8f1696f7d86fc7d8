import type { Chain } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import { firstFees } from './gas-fees.ts'

/**
 * The gas of the fullest transaction that the gas wallet makes: with less ETH than its cost a wallet cannot settle.
 */
const FULL_TX_GAS = 6_040_000n
const MAX_FEE_PER_GAS_WEI = 5_000_000_000n

/** What one of the seller's wallets is for: to receive payments, to pay gas, or to pay refunds. */
export type WalletRole = 'receives' | 'gas' | 'refund'

/** What one of the seller's wallets holds. `needWei`: what a full transaction may cost now. */
export interface WalletBalance {
  role: WalletRole
  address: Address
  usdcMicro?: bigint
  ethWei?: bigint
  needWei?: bigint
}

/** Reads all balances at once; rejects if the chain cannot be reached. */
export async function readBalances(
  chain: Chain & { balanceOf(address: Address): Promise<bigint> },
  wallets: ReadonlyArray<{ role: WalletRole; address: Address }>,
): Promise<WalletBalance[]> {
  return Promise.all(
    wallets.map(async ({ role, address }) => {
      if (role !== 'gas') return { role, address, usdcMicro: await chain.balanceOf(address) }
      const state = await chain.wallet(address)
      const needWei = firstFees(state, MAX_FEE_PER_GAS_WEI).maxFeePerGas * FULL_TX_GAS
      return { role, address, ethWei: state.balanceWei, needWei }
    }),
  )
}
