import type { Address, Hex } from '../protocol/hex.ts'
import { addressWord } from './abi-words.ts'

const BALANCE_OF = '70a08231' // balanceOf(address)

export const NAME_CALL: Hex = '0x06fdde03'
export const VERSION_CALL: Hex = '0x54fd4d50'
export const DECIMALS_CALL: Hex = '0x313ce567'
export const TRANSFER_TOPIC: Hex = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

export function encodeBalanceOf(account: Address): Hex {
  return `0x${BALANCE_OF}${addressWord(account)}`
}
