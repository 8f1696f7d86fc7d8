import type { Address, Hex } from '../protocol/hex.ts'

/** The key under which a payment is claimed: canonical, so that upper-case hex is the same payment. */
export function authorizationKey(chainId: number, asset: Address, payer: Address, nonce: Hex): string {
  return `${chainId}:${asset}:${payer}:${nonce}`.toLowerCase()
}

/** The key of one Transfer log: a transaction may carry many payments. */
export function transferKey(chainId: number, txHash: Hex, logIndex: number): string {
  return `${chainId}:${txHash}:${logIndex}`.toLowerCase()
}

/**
 * The key of the n-th plain transfer to the seller in a transaction. Not of its log: a reorganisation gives the same
 * transfer another log index, and it would be taken for a second one.
 */
export function plainTransferKey(chainId: number, txHash: Hex, ordinal: number): string {
  return `${chainId}:${txHash}:plain-${ordinal}`.toLowerCase()
}

/** undefined: an authorization belongs to this receipt. */
export function plainOrdinalOf(receiptKey: string): number | undefined {
  const match = /:plain-(\d+)$/.exec(receiptKey)
  return match ? Number(match[1]) : undefined
}
