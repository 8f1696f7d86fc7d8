import { bytesToHex } from 'viem/utils'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Curve } from './curve.ts'
import type { Keccak } from './keccak.ts'

/** Who signed; undefined when r and s are no signature at all. The signature has 65 bytes, its v is 27 or 28. */
export type RecoverSigner = (digest: Uint8Array, signature: Hex) => Address | undefined

export function createSignerRecovery(curve: Curve, keccak: Keccak): RecoverSigner {
  return (digest, signature) => {
    const bytes = Buffer.from(signature.slice(2), 'hex')
    const publicKey = curve.recover(digest, bytes.subarray(0, 64), bytes[64]! - 27)
    return publicKey && bytesToHex(keccak(publicKey).subarray(12))
  }
}
