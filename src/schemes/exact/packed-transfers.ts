import type { Address, Hex } from '../../protocol/hex.ts'
import type { SignedAuthorization } from './authorization.ts'

const MAX_VALUE = 1n << 96n
const MAX_TIME = 1n << 40n
/** The counter of a group has two bytes. */
const MAX_COUNT = 65_535

/**
 * Whether the settler contract can take it: the signature of a plain account, and numbers that fit their fields. Everything
 * else has another way to the token.
 */
export function isPackable({ value, validAfter, validBefore, signature }: SignedAuthorization): boolean {
  return (
    signature.length === 2 + 130 &&
    BigInt(value) < MAX_VALUE &&
    BigInt(validAfter) < MAX_TIME &&
    BigInt(validBefore) < MAX_TIME
  )
}

/** The calldata of the settler contract, as contracts/PaystileSettler.sol describes it. Those who are paid are named once each; members keep their order within a group. */
export function encodePacked(token: Address, auths: readonly SignedAuthorization[]): Hex {
  const groups = new Map<string, string[]>()
  for (const auth of auths) {
    if (!isPackable(auth)) throw new RangeError('an authorization that does not fit cannot be packed')
    const to = digitsOf(auth.to)
    const members = groups.get(to)
    if (members) members.push(memberOf(auth))
    else groups.set(to, [memberOf(auth)])
  }
  let data: Hex = `0x${digitsOf(token)}`
  for (const [to, members] of groups) {
    if (members.length > MAX_COUNT)
      throw new RangeError(`${members.length} payments are too many for a group`)
    data += to + number(members.length, 2) + members.join('')
  }
  return data as Hex
}

function memberOf(auth: SignedAuthorization): string {
  return (
    digitsOf(auth.from) +
    number(BigInt(auth.value), 12) +
    number(BigInt(auth.validAfter), 5) +
    number(BigInt(auth.validBefore), 5) +
    auth.nonce.slice(2) +
    auth.signature.slice(130) +
    auth.signature.slice(2, 130)
  )
}

const digitsOf = (address: Address): string => address.slice(2).toLowerCase()
const number = (value: bigint | number, bytes: number): string => value.toString(16).padStart(2 * bytes, '0')
