import type { Claim } from '../../ports.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { nameFault } from '../../protocol/name-fault.ts'
import { UptoPayloadSchema } from '../../protocol/permit2.ts'

/** A signed maximum, as it is stored. A type, not an interface: it is plain JSON. */
export type SignedPermit = {
  from: Address
  token: Address
  /** The most that may be charged, in units of the token. */
  amount: string
  spender: Address
  nonce: string
  deadline: string
  to: Address
  facilitator: Address
  validAfter: string
  signature: Hex
  /** What is settled of it, once the call has said so. */
  charge?: string
}

const UINT256_END = 1n << 256n

/** 78 digits can exceed a uint256; such a permit has no calldata. */
export function isEncodable({ amount, nonce, deadline, validAfter }: SignedPermit): boolean {
  return [amount, nonce, deadline, validAfter].every((number) => BigInt(number) < UINT256_END)
}

/** Reads `payload` of an x402 payment. */
export function parsePermit(payload: unknown): { signed: SignedPermit; claims: Claim[] } | { fault: string } {
  const parsed = UptoPayloadSchema.safeParse(payload)
  if (!parsed.success) return { fault: nameFault(parsed.error, ['payload']) }
  const { signature, permit2Authorization } = parsed.data
  const { from, permitted, spender, nonce, deadline, witness } = permit2Authorization
  const signed: SignedPermit = {
    ...{ from, ...permitted, spender, nonce, deadline, ...witness, signature },
  }
  if (!isEncodable(signed)) return { fault: 'payload.permit2Authorization has a number above 2^256 - 1' }
  const field = (name: string): string => `permit2Authorization.${name}`
  return {
    signed,
    claims: [
      { about: 'amount', field: field('permitted.amount'), value: permitted.amount },
      { about: 'payTo', field: field('witness.to'), value: witness.to },
      { about: 'asset', field: field('permitted.token'), value: permitted.token },
    ],
  }
}

/** The key under which a permit can be used once: Permit2 counts nonces per payer, whatever the token. */
export const permitKey = (chainId: number, payer: Address, nonce: string): string =>
  `${chainId}:permit2:${payer}:${nonce}`

/** Compares everything that was signed; what is charged of it is ours. */
export function isSamePermit(one: SignedPermit, other: SignedPermit): boolean {
  return (
    one.from === other.from &&
    one.token === other.token &&
    one.amount === other.amount &&
    one.spender === other.spender &&
    one.nonce === other.nonce &&
    one.deadline === other.deadline &&
    one.to === other.to &&
    one.facilitator === other.facilitator &&
    one.validAfter === other.validAfter &&
    one.signature === other.signature
  )
}
