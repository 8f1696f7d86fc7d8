import { getAddress } from 'viem/utils'
import type { Hex } from '../protocol/hex.ts'

// The order of secp256k1: a private key is a number from 1 to below this.
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

// Shortened on purpose: money for a whole one that is copied would go to a stranger.
export const EXAMPLE_ADDRESS = '0x71C7…976F'
const EXAMPLE_KEY = '0x4c08…2318'

/** Why money must not be sent there; `undefined` when it may. Addresses are public and may be repeated. */
export function addressFault(text: string): string | undefined {
  const form = `an address is 0x and 40 hex digits, for example ${EXAMPLE_ADDRESS}.`
  if (!text.startsWith('0x')) return `does not begin with 0x; ${form}`
  const digits = text.slice(2)
  const foreign = /[^0-9a-fA-F]/.exec(digits)
  if (foreign) return `has ${JSON.stringify(foreign[0])} at position ${foreign.index + 3}; ${form}`
  if (digits.length !== 40)
    return `has ${digits.length} hex digits; an address has 40, for example ${EXAMPLE_ADDRESS}.`
  if (/^0+$/.test(digits))
    return `is the zero address; money sent there is lost. Give your own, for example ${EXAMPLE_ADDRESS}.`
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
    return `has a character that is no hex digit; a private key is 0x and 64 hex digits, for example ${EXAMPLE_KEY}.`
  if (digits.length !== 64) {
    const hint = digits.length === 40 ? ', like an address' : ''
    return `has ${digits.length} hex digits${hint}; a private key has 64, for example ${EXAMPLE_KEY}.`
  }
  const key = BigInt(`0x${digits}`)
  return key === 0n || key >= CURVE_ORDER
    ? 'is no valid private key; generate a new one, for example by: openssl rand -hex 32'
    : undefined
}

/** The key with 0x and in lower case. */
export function canonicalKey(text: string): Hex {
  return `0x${text.replace(/^0x/i, '').toLowerCase()}`
}
