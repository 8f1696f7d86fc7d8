import { getAddress } from 'viem/utils'
import type { Hex } from '../protocol/hex.ts'

// The order of secp256k1: a private key is a number from 1 to below this.
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** Why money must not be sent there; `undefined` when it may. Addresses are public and may be repeated. */
export function addressFault(text: string): string | undefined {
  if (!text.startsWith('0x')) return 'does not begin with 0x; an address is 0x and 40 hex digits.'
  const digits = text.slice(2)
  const foreign = /[^0-9a-fA-F]/.exec(digits)
  if (foreign)
    return `has ${JSON.stringify(foreign[0])} at position ${foreign.index + 3}; an address is 0x and 40 hex digits.`
  if (digits.length !== 40) return `has ${digits.length} hex digits; an address has 40.`
  if (/^0+$/.test(digits)) return 'is the zero address; money sent there is lost.'
  const mixed = /[a-f]/.test(digits) && /[A-F]/.test(digits)
  const checksummed = getAddress(text.toLowerCase())
  if (mixed && text !== checksummed) {
    return `does not match its checksum, so a character is wrong; if you are sure of it, write ${text.toLowerCase()}.`
  }
  return undefined
}

/** Why this is not a private key; undefined if it is one. Never repeats a character of it. */
export function privateKeyFault(text: string): string | undefined {
  const digits = text.replace(/^0x/i, '')
  if (/[^0-9a-fA-F]/.test(digits))
    return 'has a character that is no hex digit; a private key is 0x and 64 hex digits.'
  if (digits.length !== 64) {
    const hint = digits.length === 40 ? ' This looks like an address.' : ''
    return `has ${digits.length} hex digits; a private key has 64.${hint}`
  }
  const key = BigInt(`0x${digits}`)
  return key === 0n || key >= CURVE_ORDER ? 'is no valid private key; generate a new one.' : undefined
}

/** The key with 0x and in lower case. */
export function canonicalKey(text: string): Hex {
  return `0x${text.replace(/^0x/i, '').toLowerCase()}`
}
