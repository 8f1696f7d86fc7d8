import type { Address, Hex } from '../../protocol/hex.ts'
import type { SignedAuthorization } from './authorization.ts'

/** A member of a group, in hex digits: from, value, validAfter, validBefore, nonce, v, r and s; see contracts/PaystileSettler.sol. */
const MEMBER_DIGITS = 2 * 139
const GROUP_DIGITS = 2 * 22
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

/** The calldata of the settler contract. Those who are paid are named once each; members keep their order within a group. */
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

/** What {@link encodePacked} made; undefined if it is not the calldata of a batch. */
export function decodePacked(data: Hex): { token: Address; auths: SignedAuthorization[] } | undefined {
  const digits = data.slice(2)
  const token: Address = `0x${digits.slice(0, 40)}`
  const auths: SignedAuthorization[] = []
  let at = 40
  while (at < digits.length) {
    const to: Address = `0x${digits.slice(at, at + 40)}`
    const count = Number.parseInt(digits.slice(at + 40, at + GROUP_DIGITS), 16)
    const end = at + GROUP_DIGITS + count * MEMBER_DIGITS
    // NaN, if the header is cut off, is not within the digits either.
    if (count === 0 || !(end <= digits.length)) return undefined
    for (at += GROUP_DIGITS; at < end; at += MEMBER_DIGITS)
      auths.push({ to, ...memberIn(digits.slice(at, at + MEMBER_DIGITS)) })
  }
  return auths.length > 0 ? { token, auths } : undefined
}

function memberIn(digits: string): Omit<SignedAuthorization, 'to'> {
  const decimal = (from: number, to: number): string => BigInt(`0x${digits.slice(from, to)}`).toString()
  return {
    from: `0x${digits.slice(0, 40)}`,
    value: decimal(40, 64),
    validAfter: decimal(64, 74),
    validBefore: decimal(74, 84),
    nonce: `0x${digits.slice(84, 148)}`,
    signature: `0x${digits.slice(150)}${digits.slice(148, 150)}`,
  }
}

const digitsOf = (address: Address): string => address.slice(2).toLowerCase()
const number = (value: bigint | number, bytes: number): string => value.toString(16).padStart(2 * bytes, '0')
