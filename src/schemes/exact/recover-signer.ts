import { bytesToHex } from 'viem/utils'
import type { Curve } from '../../chain/curve.ts'
import type { Keccak } from '../../chain/keccak.ts'
import type { Address, Hex } from '../../protocol/hex.ts'

/** The signer; undefined if r and s are not a signature. The signature must have 65 bytes with v 27 or 28. */
export type RecoverSigner = (digest: Uint8Array, signature: Hex) => Address | undefined

export function createSignerRecovery(curve: Curve, keccak: Keccak): RecoverSigner {
  return (digest, signature) => {
    const bytes = Buffer.from(signature.slice(2), 'hex')
    const publicKey = curve.recover(digest, bytes.subarray(0, 64), bytes[64]! - 27)
    return publicKey && bytesToHex(keccak(publicKey).subarray(12))
  }
}
