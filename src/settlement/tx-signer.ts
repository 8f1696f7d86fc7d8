import { privateKeyToAccount } from 'viem/accounts'
import { keccak256 } from 'viem/utils'
import type { SignedAuthorization, TxSigner } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { encodeAggregate3, MULTICALL3 } from './multicall.ts'
import { encodeTransfer } from './token-calls.ts'

/**
 * A gas wallet's key. It signs transfers of the token and nothing else: no call that a buyer composed can get
 * through it. Signatures are deterministic (RFC 6979).
 */
export function createTxSigner(privateKey: Hex, network: Network): TxSigner {
  const account = privateKeyToAccount(privateKey)
  const address = account.address.toLowerCase() as Address

  return {
    address,
    async sign({ nonce, calls, maxFeePerGas, maxPriorityFeePerGas, gas }) {
      const raw = await account.signTransaction({
        type: 'eip1559',
        chainId: network.chainId,
        nonce,
        ...target(network, address, calls),
        maxFeePerGas,
        maxPriorityFeePerGas,
        gas: BigInt(gas),
      })
      return { raw, hash: keccak256(raw) }
    },
  }
}

function target(network: Network, self: Address, calls: readonly SignedAuthorization[]) {
  const [only] = calls
  // Nothing to carry: the nonce alone is used up, by a transfer of nothing to ourselves.
  if (!only) return { to: self, value: 0n }
  // A batch of one costs 7% more than a direct call.
  if (calls.length === 1) return { to: network.asset, data: encodeTransfer(only) }
  const inner = calls.map((auth) => ({ to: network.asset, data: encodeTransfer(auth) }))
  return { to: MULTICALL3, data: encodeAggregate3(inner) }
}
