import type { Address, Hex } from '../../src/protocol/hex.ts'
import type { SignedAuthorization } from '../../src/schemes/exact/authorization.ts'

/** In hex digits, as contracts/PaystileSettler.sol describes them. */
const MEMBER_DIGITS = 2 * 139
const GROUP_DIGITS = 2 * 22

/** The payments in the calldata of the settler contract; undefined if it is not the calldata of a batch. */
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
