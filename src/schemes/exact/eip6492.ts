import type { Address, Hex } from '../../protocol/hex.ts'

/** The end of a signature of a wallet that may not be deployed yet. */
const MAGIC = '6492'.repeat(16)
/** The gas limit of a call that deploys a wallet and asks it. Used in `eth_call` only; it is never sent. */
export const DEPLOY_CALL_GAS = 3_000_000

/** A wallet's own signature, and the call of its factory that would deploy it. */
export interface Wrapped {
  factory: Address
  deploy: Hex
  signature: Hex
}

export const isWrapped = (signature: Hex): boolean => signature.endsWith(MAGIC)

/** Decodes `abi.encode(factory, calldata, signature)`; undefined if it is something else. */
export function unwrap(wrapped: Hex): Wrapped | undefined {
  if (!isWrapped(wrapped)) return undefined
  const digits = wrapped.slice(2, -MAGIC.length)
  const wordAt = (byte: number): string => digits.slice(byte * 2, byte * 2 + 64)
  const numberAt = (byte: number): number => {
    const text = wordAt(byte)
    return text.length === 64 && /^0{56}/.test(text) ? Number.parseInt(text.slice(56), 16) : Number.NaN
  }
  const bytesAt = (byte: number): Hex | undefined => {
    const start = numberAt(byte)
    const length = numberAt(start)
    const bytes = digits.slice((start + 32) * 2, (start + 32 + length) * 2)
    return bytes.length === length * 2 ? `0x${bytes}` : undefined
  }
  const [deploy, signature] = [bytesAt(32), bytesAt(64)]
  if (!/^0{24}/.test(wordAt(0)) || !deploy || !signature) return undefined
  return { factory: `0x${wordAt(0).slice(24)}`, deploy, signature }
}
