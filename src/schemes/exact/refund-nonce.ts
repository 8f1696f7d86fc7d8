import { encodePacked, keccak256 } from 'viem/utils'
import type { Address, Hex } from '../../protocol/hex.ts'

const LABEL = 'paystile:refund'

/**
 * The EIP-3009 nonce of a payment's refund. It is computed from the payment alone, so the token itself refuses a
 * second refund from the same wallet, even after the store is lost.
 */
export function refundNonce({
  chainId,
  asset,
  payer,
  authorizationNonce,
}: {
  chainId: number
  asset: Address
  payer: Address
  authorizationNonce: Hex
}): Hex {
  return keccak256(
    encodePacked(
      ['string', 'uint256', 'address', 'address', 'bytes32'],
      [LABEL, BigInt(chainId), asset, payer, authorizationNonce],
    ),
  )
}

/** The same for a receipt's key: `chainId:asset:payer:nonce`, or `chainId:txHash:plain-N` of a plain transfer. */
export function refundNonceOf(receiptKey: string, asset: Address): Hex {
  const parts = receiptKey.split(':')
  const chainId = Number(parts[0])
  if (parts.length === 4) {
    return refundNonce({
      chainId,
      asset: parts[1] as Address,
      payer: parts[2] as Address,
      authorizationNonce: parts[3] as Hex,
    })
  }
  const ordinal = /^plain-(\d+)$/.exec(parts[2] ?? '')?.[1]
  if (parts.length !== 3 || ordinal === undefined) throw new Error(`${receiptKey} is no receipt's key`)
  // The input has another length than above, so no plain transfer can share a nonce with an authorization.
  return keccak256(
    encodePacked(
      ['string', 'uint256', 'address', 'bytes32', 'uint256'],
      [LABEL, BigInt(chainId), asset, parts[1] as Hex, BigInt(ordinal)],
    ),
  )
}
