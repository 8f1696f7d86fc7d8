import { randomBytes } from 'node:crypto'
import { type Address, bytesToHex, type Hex } from 'viem'
import { type AuthorizationTypedData, authorizationTypedData } from '../protocol/authorization.ts'
import { sameHex } from '../protocol/hex.ts'
import { NETWORKS } from '../protocol/networks.ts'

/** The fields of one `accepts` element that a buyer needs; all others are echoed unchanged. */
export type SignableRequirements = {
  scheme: string
  network: string
  asset: string
  amount: string
  payTo: string
  maxTimeoutSeconds: number
  extra: { name?: unknown; version?: unknown }
}

/** An EIP-3009 authorization in its JSON form: numbers are decimal strings. */
export type Authorization = {
  from: Address
  to: Address
  value: string
  validAfter: string
  validBefore: string
  nonce: Hex
}

/** An authorization with its signature. */
export type SignedAuthorization = { authorization: Authorization; signature: Hex }

/** An account that can sign typed data, such as a viem local account. */
export type TypedDataSigner = {
  address: Address
  signTypedData(data: AuthorizationTypedData): Promise<Hex>
}

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
  overrides?: Partial<Authorization> & { domain?: Partial<AuthorizationTypedData['domain']> }
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
  const { network, asset, extra } = requirements
  // The name in the domain of USDC differs per chain, so an offer that leaves it out is read by the table.
  const known = NETWORKS.find(({ id, token }) => id === network && sameHex(token.address, asset))?.token
    .domain
  const { name, version } = { name: 'USDC', version: '2', ...known }
  const token = {
    address: asset as Address,
    domain: { name: String(extra.name ?? name), version: String(extra.version ?? version) },
  }
  const typedData = authorizationTypedData({ chainId: Number(network.split(':')[1]), token }, authorization)
  const signature = await account.signTypedData({ ...typedData, domain: { ...typedData.domain, ...domain } })
  return { authorization, signature }
}

/**
 * The X402PaymentPayload of SPEC.md. `overrides` replace top-level fields; `undefined` removes one.
 *
 * @example
 * import type { PaymentRequired } from 'paystile'
 * import { privateKeyToAccount } from 'viem/accounts'
 *
 * async function withoutScheme({ accepts }: PaymentRequired): Promise<object> {
 *   const account = privateKeyToAccount('0x…')
 *   const accepted = accepts[0]!
 *   const signed = await signAuthorization({ account, requirements: accepted })
 *   return paymentPayload({ accepted, ...signed, overrides: { scheme: undefined } })
 * }
 */
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

/**
 * The value of a `payment-signature` header: the payload as base64 JSON.
 *
 * @example
 * import type { PaymentRequired } from 'paystile'
 * import { privateKeyToAccount } from 'viem/accounts'
 *
 * async function pay(url: string, { accepts }: PaymentRequired): Promise<Response> {
 *   const account = privateKeyToAccount('0x…')
 *   const accepted = accepts[0]!
 *   const signed = await signAuthorization({ account, requirements: accepted })
 *   return fetch(url, { headers: { 'payment-signature': paymentHeader({ accepted, ...signed }) } })
 * }
 */
export function paymentHeader({
  encoding = 'base64',
  ...parts
}: Parameters<typeof paymentPayload>[0] & { encoding?: 'base64' | 'base64url' }): string {
  return Buffer.from(JSON.stringify(paymentPayload(parts))).toString(encoding)
}
