import type { Address, Hex } from '../protocol/hex.ts'

/** The key under which a payment is claimed: canonical, so that upper-case hex is the same payment. */
export function authorizationKey(chainId: number, asset: Address, payer: Address, nonce: Hex): string {
  return `${chainId}:${asset}:${payer}:${nonce}`.toLowerCase()
}

/** The key of one Transfer log: a transaction may carry many payments. */
export function transferKey(chainId: number, txHash: Hex, logIndex: number): string {
  return `${chainId}:${txHash}:${logIndex}`.toLowerCase()
}

/** A receipt under such a key was paid by a plain transfer: no authorization belongs to it. */
export function isTransferKey(key: string): boolean {
  return key.split(':').length === 3
}
