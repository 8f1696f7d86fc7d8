import { privateKeyToAddress } from 'viem/accounts'
import { bytesToHex } from 'viem/utils'
import type { SignedAuthorization, TxSigner } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { loadCurve } from './curve.ts'
import { encodeTransaction, type TransactionFields } from './encode-transaction.ts'
import { loadKeccak } from './keccak.ts'
import { encodeTryAggregate, MULTICALL3 } from './multicall.ts'
import { encodeTransfer } from './token-calls.ts'

/**
 * A gas wallet's key. It signs transfers of the token and nothing else: no call that a buyer composed can get
 * through it. Signatures are deterministic (RFC 6979).
 */
export function createTxSigner(privateKey: Hex, network: Network): TxSigner {
  const address = privateKeyToAddress(privateKey).toLowerCase() as Address
  const key = Buffer.from(privateKey.slice(2), 'hex')
  const curve = loadCurve()

  return {
    address,
    async sign({ nonce, calls, maxFeePerGas, maxPriorityFeePerGas, gas }) {
      const keccak = await loadKeccak()
      const fees = { maxFeePerGas, maxPriorityFeePerGas, gas: BigInt(gas) }
      const fields = { chainId: network.chainId, nonce, ...fees, ...target(network, address, calls) }
      const { signature, recoveryId } = curve.sign(keccak(encodeTransaction(fields)), key)
      const raw = encodeTransaction(fields, {
        yParity: recoveryId,
        r: signature.subarray(0, 32),
        s: signature.subarray(32),
      })
      return { raw: bytesToHex(raw), hash: bytesToHex(keccak(raw)) }
    },
  }
}

function target(
  network: Network,
  self: Address,
  calls: readonly SignedAuthorization[],
): Pick<TransactionFields, 'to' | 'data'> {
  const [only] = calls
  // Nothing to carry: the nonce alone is used up, by a transfer of nothing to ourselves.
  if (!only) return { to: self, data: '0x' }
  // A batch of one costs 7% more than a direct call.
  if (calls.length === 1) return { to: network.asset, data: encodeTransfer(only) }
  const inner = calls.map((auth) => ({ to: network.asset, data: encodeTransfer(auth) }))
  return { to: MULTICALL3, data: encodeTryAggregate(inner) }
}
