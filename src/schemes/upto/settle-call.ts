import { addressWord, bytesTail, word } from '../../chain/abi-words.ts'
import type { Call } from '../../chain/multicall.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { UPTO_PROXY_ADDRESS } from '../../protocol/permit2.ts'
import type { SignedPermit } from './permit.ts'

/** settle(((address,uint256),uint256,uint256),uint256,address,(address,address,uint256),bytes) */
const SETTLE = 'ff11e7b4'
/** Everything before the signature: four words of the permit, amount, owner, three of the witness, the offset. */
const FIXED_WORDS = 10

export const isPermit = (payment: object): payment is SignedPermit => 'facilitator' in payment

/** What is settled: the stored charge, or the maximum while there is none. */
export const settledAmount = ({ charge, amount }: SignedPermit): string => charge ?? amount

/** The call that settles a permit for its charge. */
export function encodeSettle(permit: SignedPermit): Call {
  const data: Hex = `0x${SETTLE}${addressWord(permit.token)}${word(BigInt(permit.amount))}${word(
    BigInt(permit.nonce),
  )}${word(BigInt(permit.deadline))}${word(BigInt(settledAmount(permit)))}${addressWord(permit.from)}${addressWord(
    permit.to,
  )}${addressWord(permit.facilitator)}${word(BigInt(permit.validAfter))}${word(FIXED_WORDS * 32)}${bytesTail(
    permit.signature,
  )}`
  return { to: UPTO_PROXY_ADDRESS, data }
}

/** The payment that a transaction's call settles; undefined if it is another call. */
export function decodeSettle(call: {
  to: Address | null
  data: Hex
}): { owner: Address; nonce: string; to: Address; amount: string } | undefined {
  if (call.to !== UPTO_PROXY_ADDRESS || !call.data.startsWith(`0x${SETTLE}`)) return undefined
  const digits = call.data.slice(10)
  if (digits.length < FIXED_WORDS * 64) return undefined
  const wordAt = (index: number): string => digits.slice(index * 64, index * 64 + 64)
  const numberAt = (index: number): string => BigInt(`0x${wordAt(index)}`).toString()
  const addressAt = (index: number): Address => `0x${wordAt(index).slice(24)}`
  return { owner: addressAt(5), nonce: numberAt(2), to: addressAt(6), amount: numberAt(4) }
}
