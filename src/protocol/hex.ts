import { z } from 'zod'

/**
 * 0x-prefixed hex. Everything that becomes part of a key is lower-cased first, so that two spellings give one key.
 */
export type Hex = `0x${string}`
/** A 20-byte account or contract, lower-case once it has passed {@link AddressSchema}. */
export type Address = Hex

const lower = (value: string): Hex => value.toLowerCase() as Hex

export const AddressSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, 'must be 0x followed by 40 hex digits')
  .transform(lower)

export const Bytes32Schema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'must be 0x followed by 64 hex digits')
  .transform(lower)

/** Signatures may be longer than 65 bytes (smart wallets); the limit keeps calldata and gas small. */
export const SignatureSchema = z
  .string()
  .regex(/^0x(?:[0-9a-fA-F]{2}){1,2048}$/, 'must be 0x followed by 1 to 2048 bytes of hex')
  .transform(lower)

export const sameHex = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()
