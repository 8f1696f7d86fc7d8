import type { WalletState } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import type { ChainClient } from './chain-client.ts'
import { firstFees, gasPolicyOf } from './gas-fees.ts'
import { fullTransactionGas } from './gas-limits.ts'

/** What one of the seller's wallets is for: to receive payments, to pay gas, or to pay refunds. */
export type WalletRole = 'receives' | 'gas' | 'refund'

/** What one of the seller's wallets holds. `needWei`: what a full transaction may cost now. */
export interface WalletBalance {
  role: WalletRole
  address: Address
  /** In micro-dollars, rounded down, whatever the decimals of the token. */
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

/** What the fullest transaction of the gas wallet may cost now. */
export function fullTransactionWei(state: WalletState, network: Network): bigint {
  const { maxFeePerGasWei, maxTxGas } = gasPolicyOf(network)
  return firstFees(state, maxFeePerGasWei).maxFeePerGas * fullTransactionGas(maxTxGas)
}

/** Reads all balances at once; rejects if the chain cannot be reached. */
export async function readBalances(
  chain: Pick<ChainClient, 'network' | 'wallet' | 'balanceOf'>,
  wallets: ReadonlyArray<{ role: WalletRole; address: Address }>,
): Promise<WalletBalance[]> {
  const unitsPerMicro = 10n ** BigInt(chain.network.token.decimals - 6)
  return Promise.all(
    wallets.map(async ({ role, address }) => {
      if (role !== 'gas')
        return { role, address, usdcMicro: (await chain.balanceOf(address)) / unitsPerMicro }
      const state = await chain.wallet(address)
      return { role, address, ethWei: state.balanceWei, needWei: fullTransactionWei(state, chain.network) }
    }),
  )
}
