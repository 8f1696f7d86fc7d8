import type { Hex } from '../protocol/hex.ts'

/** The key of one Transfer log: a transaction may carry many payments. */
export function transferKey(chainId: number, txHash: Hex, logIndex: number): string {
  return `${chainId}:${txHash}:${logIndex}`.toLowerCase()
}

/**
 * The key of the n-th plain transfer to the seller in a transaction. The log index is not part of it: a
 * reorganisation gives the same transfer another log index, and it would count as a second one.
 */
export function plainTransferKey(chainId: number, txHash: Hex, ordinal: number): string {
  return `${chainId}:${txHash}:plain-${ordinal}`.toLowerCase()
}
