import { encodePacked, keccak256 } from 'viem/utils'
import type { Address, Hex } from '../../protocol/hex.ts'

const LABEL = 'paystile:refund'
const PERMIT2 = 'permit2'

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

/**
 * The same for a receipt's key: `chainId:asset:payer:nonce`, `chainId:permit2:payer:nonce` of a metered payment, or
 * `chainId:txHash:plain-N` of a plain transfer. What is hashed has another length for each, so that no two share a
 * nonce.
 */
export function refundNonceOf(receiptKey: string, asset: Address): Hex {
  const parts = receiptKey.split(':')
  const chainId = Number(parts[0])
  if (parts.length === 4 && parts[1] === PERMIT2) {
    return keccak256(
      encodePacked(
        ['string', 'uint256', 'address', 'string', 'address', 'uint256'],
        [LABEL, BigInt(chainId), asset, PERMIT2, parts[2] as Address, BigInt(parts[3]!)],
      ),
    )
  }
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
  return keccak256(
    encodePacked(
      ['string', 'uint256', 'address', 'bytes32', 'uint256'],
      [LABEL, BigInt(chainId), asset, parts[1] as Hex, BigInt(ordinal)],
    ),
  )
}
