import { addressWord, bytesTail, word } from '../../chain/abi-words.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import type { SignedAuthorization } from './authorization.ts'

/**
 * Calldata for the token, made by hand: the layout never changes, and viem's general encoder takes sixteen times as long
 * for a batch of 50. A test compares every byte with viem.
 */
const TRANSFER = 'cf092995' // transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)
const TRANSFER_VRS = 'e3ee160e' // the same with (uint8 v,bytes32 r,bytes32 s) in place of the bytes
const STATE = 'e94a0102' // authorizationState(address,bytes32)
const IS_VALID_SIGNATURE = '1626ba7e' // isValidSignature(bytes32,bytes)

/** The answer of a wallet to `isValidSignature` if the signature is valid, as a whole word. */
export const EIP1271_AGREED: Hex = `0x${IS_VALID_SIGNATURE}${'0'.repeat(56)}`

export const USED_TOPIC: Hex = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
export const CANCELED_TOPIC: Hex = '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81'

const UINT256_END = 1n << 256n

/** 78 digits can exceed a uint256; such an authorization has no calldata. */
export function isEncodable({ value, validAfter, validBefore }: SignedAuthorization): boolean {
  return [value, validAfter, validBefore].every((number) => BigInt(number) < UINT256_END)
}

export function encodeTransfer(auth: SignedAuthorization): Hex {
  if (!isEncodable(auth))
    throw new RangeError('an authorization with a number above uint256 cannot be encoded')
  const fixed =
    addressWord(auth.from) +
    addressWord(auth.to) +
    word(BigInt(auth.value)) +
    word(BigInt(auth.validAfter)) +
    word(BigInt(auth.validBefore)) +
    auth.nonce.slice(2)
  const digits = auth.signature.slice(2)
  // The token accepts both forms; a plain account's signature is cheaper to send in three words.
  if (digits.length === 130) {
    return `0x${TRANSFER_VRS}${fixed}${digits.slice(128).padStart(64, '0')}${digits.slice(0, 128)}`
  }
  return `0x${TRANSFER}${fixed}${word(7 * 32)}${bytesTail(auth.signature)}`
}

export function encodeAuthorizationState(payer: Address, nonce: Hex): Hex {
  return `0x${STATE}${addressWord(payer)}${nonce.slice(2)}`
}

export function encodeIsValidSignature(digest: Hex, signature: Hex): Hex {
  return `0x${IS_VALID_SIGNATURE}${digest.slice(2)}${word(2 * 32)}${bytesTail(signature)}`
}
