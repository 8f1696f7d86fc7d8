import { z } from 'zod'
import { UintString } from './amount.ts'
import { AddressSchema, Bytes32Schema, type Hex, SignatureSchema } from './hex.ts'
import type { Token } from './network.ts'

export const AuthorizationSchema = z.object({
  from: AddressSchema,
  to: AddressSchema,
  value: UintString,
  validAfter: UintString,
  validBefore: UintString,
  nonce: Bytes32Schema,
})
/** An EIP-3009 TransferWithAuthorization, canonical: lower-case hex, decimal strings. */
export type Authorization = z.infer<typeof AuthorizationSchema>

/** `payload` of a payment by scheme `exact`. */
export const ExactPayloadSchema = z.object({
  signature: SignatureSchema,
  authorization: AuthorizationSchema,
  from: AddressSchema.optional(),
})

const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** The EIP-712 message that a payer signs. */
export interface AuthorizationTypedData {
  domain: { name: string; version: string; chainId: number; verifyingContract: Hex }
  types: typeof TYPES
  primaryType: 'TransferWithAuthorization'
  message: { from: Hex; to: Hex; value: bigint; validAfter: bigint; validBefore: bigint; nonce: Hex }
}

/** The message of this authorization, under the domain of the network's token. */
export function authorizationTypedData(
  { chainId, token }: { chainId: number; token: Pick<Token, 'address' | 'domain'> },
  { from, to, value, validAfter, validBefore, nonce }: Authorization,
): AuthorizationTypedData {
  return {
    domain: { ...token.domain, chainId, verifyingContract: token.address },
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      from,
      to,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
      nonce,
    },
  }
}
