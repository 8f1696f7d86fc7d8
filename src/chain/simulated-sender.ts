import type { WalletState } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { firstFees } from './gas-fees.ts'
import { ALONE_GAS } from './gas-limits.ts'
import { toQuantity } from './rpc-values.ts'

/** A simulation pays no fees, so they need no cap. */
const NO_CAP = 2n ** 128n

/** The fields of a simulated call that make it look like a transaction of this wallet, at the fees that it would offer. */
export function simulatedSender(sender: Address, state: WalletState, { legacy }: Network['fees']) {
  const { maxFeePerGas, maxPriorityFeePerGas } = firstFees(state, NO_CAP)
  if (legacy) return { from: sender, gasPrice: toQuantity(maxFeePerGas) }
  return {
    from: sender,
    maxFeePerGas: toQuantity(maxFeePerGas),
    maxPriorityFeePerGas: toQuantity(maxPriorityFeePerGas),
  }
}

/**
 * Can this wallet pay for a payment that goes alone, at these fees? If not, a node fails the simulated call, in words
 * of its own, whatever the payer did.
 */
export const canPayAlone = (state: WalletState): boolean =>
  state.balanceWei >= firstFees(state, NO_CAP).maxFeePerGas * BigInt(ALONE_GAS)
