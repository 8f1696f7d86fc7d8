import { privateKeyToAddress } from 'viem/accounts'
import { bytesToHex } from 'viem/utils'
import type { Signed, TxSigner } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { loadCurve } from './curve.ts'
import { encodeLegacyTransaction, encodeTransaction } from './encode-transaction.ts'
import { loadKeccak } from './keccak.ts'
import type { Call } from './multicall.ts'

/**
 * The key of a gas wallet. It signs only what the scheme encodes, so no call that a buyer composed can be signed.
 * Signatures are deterministic (RFC 6979).
 */
export function createTxSigner(
  privateKey: Hex,
  { chainId, fees: { legacy } }: Pick<Network, 'chainId' | 'fees'>,
  encode: (payments: readonly Signed[]) => Call,
): TxSigner {
  const address = privateKeyToAddress(privateKey).toLowerCase() as Address
  const key = Buffer.from(privateKey.slice(2), 'hex')
  const curve = loadCurve()
  const bytesOf = legacy ? encodeLegacyTransaction : encodeTransaction

  return {
    address,
    async sign({ nonce, calls, maxFeePerGas, maxPriorityFeePerGas, gas }) {
      const keccak = await loadKeccak()
      const fees = { maxFeePerGas, maxPriorityFeePerGas, gas: BigInt(gas) }
      // Without calls, the transaction only uses up its nonce, by a transfer of nothing to ourselves.
      const call: Call = calls.length === 0 ? { to: address, data: '0x' } : encode(calls)
      const fields = { chainId, nonce, ...fees, ...call }
      const { signature, recoveryId } = curve.sign(keccak(bytesOf(fields)), key)
      const raw = bytesOf(fields, {
        yParity: recoveryId,
        r: signature.subarray(0, 32),
        s: signature.subarray(32),
      })
      return { raw: bytesToHex(raw), hash: bytesToHex(keccak(raw)) }
    },
  }
}
