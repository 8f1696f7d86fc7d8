import { randomBytes } from 'node:crypto'
import { type Address, bytesToHex, type Hex, type TypedDataDomain } from 'viem'

/** The fields of one `accepts` element that a buyer needs; anything else is echoed as it came. */
export type SignableRequirements = {
  scheme: string
  network: string
  asset: string
  amount: string
  payTo: string
  maxTimeoutSeconds: number
  extra: { name?: unknown; version?: unknown }
}

/** An EIP-3009 authorization as it travels: numbers are decimal strings. */
export type Authorization = {
  from: Address
  to: Address
  value: string
  validAfter: string
  validBefore: string
  nonce: Hex
}

export type SignedAuthorization = { authorization: Authorization; signature: Hex }

/** Whoever can sign typed data: a viem local account. */
export type TypedDataSigner = {
  address: Address
  signTypedData(data: {
    domain: TypedDataDomain
    types: typeof TRANSFER_TYPES
    primaryType: 'TransferWithAuthorization'
    message: {
      from: Address
      to: Address
      value: bigint
      validAfter: bigint
      validBefore: bigint
      nonce: Hex
    }
  }): Promise<Hex>
}

const TRANSFER_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/**
 * Signs what the requirements ask, as SPEC.md tells a buyer to: valid at once and for 300 seconds, under a fresh
 * random nonce. `overrides` change the message or the domain before signing (`from` is then a wallet whose owner
 * signs); to tamper after signing, change the result.
 *
 * @example
 * import type { PaymentRequired } from 'paystile'
 * import { privateKeyToAccount } from 'viem/accounts'
 *
 * const answer = await fetch('http://localhost:3000/weather/paris')
 * const { accepts } = (await answer.json()) as PaymentRequired
 * const account = privateKeyToAccount('0x…')
 * const { authorization, signature } = await signAuthorization({ account, requirements: accepts[0]! })
 */
export async function signAuthorization({
  account,
  requirements,
  overrides = {},
  nowSeconds = Math.floor(Date.now() / 1000),
}: {
  account: TypedDataSigner
  requirements: SignableRequirements
  overrides?: Partial<Authorization> & { domain?: TypedDataDomain }
  nowSeconds?: number
}): Promise<SignedAuthorization> {
  const { domain, ...changed } = overrides
  const authorization: Authorization = {
    from: account.address,
    to: requirements.payTo as Address,
    value: requirements.amount,
    validAfter: '0',
    validBefore: String(nowSeconds + 300),
    nonce: bytesToHex(randomBytes(32)),
    ...changed,
  }
  const signature = await account.signTypedData({
    domain: {
      name: String(requirements.extra.name ?? 'USDC'),
      version: String(requirements.extra.version ?? '2'),
      chainId: Number(requirements.network.split(':')[1]),
      verifyingContract: requirements.asset as Address,
      ...domain,
    },
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: authorization.from,
      to: authorization.to,
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
      nonce: authorization.nonce,
    },
  })
  return { authorization, signature }
}

/** The X402PaymentPayload of SPEC.md. `overrides` replace top-level fields; `undefined` removes one. */
export function paymentPayload({
  accepted,
  authorization,
  signature,
  overrides = {},
}: SignedAuthorization & {
  accepted: SignableRequirements
  overrides?: Record<string, unknown>
}): Record<string, unknown> {
  return {
    x402Version: 2,
    network: accepted.network,
    scheme: accepted.scheme,
    payload: { signature, authorization, from: authorization.from },
    accepted,
    ...overrides,
  }
}

/** The value of a `payment-signature` header: the payload as base64 JSON. */
export function paymentHeader({
  encoding = 'base64',
  ...parts
}: Parameters<typeof paymentPayload>[0] & { encoding?: 'base64' | 'base64url' }): string {
  return Buffer.from(JSON.stringify(paymentPayload(parts))).toString(encoding)
}
