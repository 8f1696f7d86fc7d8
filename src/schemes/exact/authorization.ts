import type { Claim } from '../../ports.ts'
import { type Authorization, ExactPayloadSchema } from '../../protocol/authorization.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { nameFault } from '../../protocol/name-fault.ts'
import type { Network } from '../../protocol/network.ts'
import { unwrap } from './eip6492.ts'

/** An EIP-3009 authorization with its signature, as it is stored. A type, not an interface: it is plain JSON. */
export type SignedAuthorization = Authorization & { signature: Hex }

/** Reads `payload` of an x402 payment. */
export function parseAuthorization(
  payload: unknown,
): { signed: SignedAuthorization; claims: Claim[] } | { fault: string } {
  const parsed = ExactPayloadSchema.safeParse(payload)
  if (!parsed.success) return { fault: nameFault(parsed.error, ['payload']) }
  const { authorization, signature, from } = parsed.data
  const claims: Claim[] = [
    { about: 'amount', field: 'authorization.value', value: authorization.value },
    { about: 'payTo', field: 'authorization.to', value: authorization.to },
  ]
  if (from !== undefined) claims.push({ about: 'payer', field: 'payload.from', value: from })
  return { signed: { ...authorization, signature }, claims }
}

/**
 * The key under which an authorization can be used once. In lower case, so that the same payment in upper-case hex
 * has the same key.
 */
export function authorizationKey(
  { chainId, token }: Pick<Network, 'chainId' | 'token'>,
  payer: Address,
  nonce: Hex,
): string {
  return `${chainId}:${token.address}:${payer}:${nonce}`.toLowerCase()
}

/** Payer and nonce of such a key. */
export function splitKey(key: string): { payer: Address; nonce: Hex } {
  const [, , payer, nonce] = key.split(':')
  return { payer: payer as Address, nonce: nonce as Hex }
}

/**
 * Compares every field. The signature of a wallet that has been deployed since may come without its EIP-6492 wrapper.
 */
export function isSameAuthorization(one: SignedAuthorization, other: SignedAuthorization): boolean {
  return (
    one.from === other.from &&
    one.to === other.to &&
    one.value === other.value &&
    one.validAfter === other.validAfter &&
    one.validBefore === other.validBefore &&
    one.nonce === other.nonce &&
    withoutWrapper(one.signature) === withoutWrapper(other.signature)
  )
}

const withoutWrapper = (signature: Hex): Hex => unwrap(signature)?.signature ?? signature
