import { z } from 'zod'
import { UintString } from './amount.ts'
import { type Address, AddressSchema, type Hex, SignatureSchema } from './hex.ts'

/** Scheme `upto`: the payer signs a maximum, and the call decides how much of it is charged. */
export const UPTO_SCHEME = 'upto'
/** `extra.assetTransferMethod` of its offers: how the money moves. */
export const PERMIT2_METHOD = 'permit2'

/** Permit2, the same on every chain. A payer lets it move a token once, by an approval of the token. */
export const PERMIT2_ADDRESS: Address = '0x000000000022d473030f116ddee9f6b43ac78ba3'
/** The spender of x402's `upto`: it pays only the recipient that was signed, and only the facilitator may call it. */
export const UPTO_PROXY_ADDRESS: Address = '0x4020a4f3b7b90cca423b9fabcc0ce57c6c240002'

export const Permit2AuthorizationSchema = z.object({
  from: AddressSchema,
  permitted: z.object({ token: AddressSchema, amount: UintString }),
  spender: AddressSchema,
  nonce: UintString,
  deadline: UintString,
  witness: z.object({ to: AddressSchema, facilitator: AddressSchema, validAfter: UintString }),
})
/** What a payer signs for `upto`, canonical: lower-case hex, decimal strings. */
export type Permit2Authorization = z.infer<typeof Permit2AuthorizationSchema>

/** `payload` of a payment by scheme `upto`. */
export const UptoPayloadSchema = z.object({
  signature: SignatureSchema,
  permit2Authorization: Permit2AuthorizationSchema,
})

const TYPES = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'facilitator', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
} as const

/** The EIP-712 message that a payer signs. */
export interface PermitTypedData {
  domain: { name: 'Permit2'; chainId: number; verifyingContract: Hex }
  types: typeof TYPES
  primaryType: 'PermitWitnessTransferFrom'
  message: {
    permitted: { token: Hex; amount: bigint }
    spender: Hex
    nonce: bigint
    deadline: bigint
    witness: { to: Hex; facilitator: Hex; validAfter: bigint }
  }
}

/** The message of this authorization, under Permit2's domain on the chain. */
export function permitTypedData(
  chainId: number,
  { permitted, spender, nonce, deadline, witness }: Permit2Authorization,
): PermitTypedData {
  return {
    domain: { name: 'Permit2', chainId, verifyingContract: PERMIT2_ADDRESS },
    types: TYPES,
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      permitted: { token: permitted.token, amount: BigInt(permitted.amount) },
      spender,
      nonce: BigInt(nonce),
      deadline: BigInt(deadline),
      witness: { ...witness, validAfter: BigInt(witness.validAfter) },
    },
  }
}
