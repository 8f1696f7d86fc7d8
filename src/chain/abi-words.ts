import type { Address, Hex } from '../protocol/hex.ts'

/** The 32-byte words of the ABI, as hex digits without 0x. */
export const word = (value: bigint | number): string => value.toString(16).padStart(64, '0')
export const addressWord = (address: Address): string => address.slice(2).toLowerCase().padStart(64, '0')

/** Length, then the bytes padded to whole words. */
export function bytesTail(bytes: Hex): string {
  const digits = bytes.slice(2)
  return word(digits.length / 2) + digits.padEnd(Math.ceil(digits.length / 64) * 64, '0')
}
