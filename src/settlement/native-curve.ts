import { createRequire } from 'node:module'

/** What we use of `secp256k1/bindings`, which has no types. */
export interface NativeCurve {
  /** The uncompressed public key, 65 bytes. Throws where there is none. */
  ecdsaRecover(
    signature: Uint8Array,
    recoveryId: number,
    message: Uint8Array,
    compressed: boolean,
  ): Uint8Array
  /** Deterministic (RFC 6979), with the low s. */
  ecdsaSign(message: Uint8Array, privateKey: Uint8Array): { signature: Uint8Array; recid: number }
}

/**
 * libsecp256k1, prebuilt for Linux and Windows on x64 and macOS on arm64; undefined elsewhere, and callers then take
 * viem's JavaScript. Not the package's plain entry: that one falls back by itself, silently and to something slower.
 */
export function loadNativeCurve(): NativeCurve | undefined {
  try {
    return createRequire(import.meta.url)('secp256k1/bindings') as NativeCurve
  } catch {
    return undefined
  }
}
