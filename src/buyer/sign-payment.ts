import { randomBytes } from 'node:crypto'
import {
  type Authorization,
  type AuthorizationTypedData,
  authorizationTypedData,
} from '../protocol/authorization.ts'
import { encodeJson } from '../protocol/base64.ts'
import type { Hex } from '../protocol/hex.ts'
import { SCHEME, X402_VERSION } from '../protocol/payment.ts'
import {
  type Permit2Authorization,
  type PermitTypedData,
  permitTypedData,
  UPTO_PROXY_ADDRESS,
  UPTO_SCHEME,
} from '../protocol/permit2.ts'
import type { StoredPayment } from './payment-storage.ts'
import type { Offer } from './read-offer.ts'

/** Anything that can sign typed data, such as every local account of viem. */
export interface BuyerAccount {
  address: Hex
  signTypedData(data: AuthorizationTypedData): Promise<Hex>
  /** Of a metered call. */
  signTypedData(data: PermitTypedData): Promise<Hex>
  /** Needed for `approvePermit2` only. */
  signTransaction?(transaction: ApprovalTransaction): Promise<Hex>
  /** If it is there, the buyer fetches the token of a plan that it still owns by signing in, before it buys another. */
  signMessage?(text: { message: string }): Promise<Hex>
}

/** The transaction by which an account lets Permit2 move a token. */
export type ApprovalTransaction = { chainId: number; nonce: number; to: Hex; data: Hex; gas: bigint } & (
  | { type: 'eip1559'; maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }
  | { type: 'legacy'; gasPrice: bigint }
)

export const newNonce = (): Hex => `0x${randomBytes(32).toString('hex')}`

interface Terms {
  nonce: Hex
  /** Unix seconds. */
  validUntil: number
  subject: string
  url: string
}

/** Signs what an offer asks for: an EIP-3009 authorization of its price, or by Permit2 the most that a metered call may cost. */
export async function signPayment(
  account: BuyerAccount,
  offer: Offer,
  { nonce, validUntil, subject, url }: Terms,
): Promise<StoredPayment> {
  const { id } = offer.network
  const payload =
    offer.facilitator === undefined
      ? await signAuthorization(account, offer, nonce, validUntil)
      : await signPermit(account, offer, offer.facilitator, nonce, validUntil)
  const header = encodeJson({
    x402Version: X402_VERSION,
    scheme: offer.facilitator === undefined ? SCHEME : UPTO_SCHEME,
    network: id,
    ...(offer.resource !== undefined && { resource: offer.resource }),
    accepted: offer.accepted,
    payload,
  })
  const amount = String(offer.amountMicro)
  return { header, subject, network: id, amount, validBefore: String(validUntil), url }
}

async function signAuthorization(account: BuyerAccount, offer: Offer, nonce: Hex, validUntil: number) {
  const { chainId, asset: address, domain } = offer.network
  const authorization: Authorization = {
    from: account.address,
    to: offer.payTo,
    value: String(offer.amountUnits),
    validAfter: '0',
    validBefore: String(validUntil),
    nonce,
  }
  const typedData = authorizationTypedData({ chainId, token: { address, domain } }, authorization)
  return { signature: await account.signTypedData(typedData), authorization }
}

/** The spender is x402's own contract, whatever the offer says: it pays the recipient that is signed, and nobody else. */
async function signPermit(
  account: BuyerAccount,
  { network: { chainId, asset }, payTo, amountUnits }: Offer,
  facilitator: Hex,
  nonce: Hex,
  validUntil: number,
) {
  const permit2Authorization: Permit2Authorization = {
    from: account.address,
    permitted: { token: asset, amount: String(amountUnits) },
    spender: UPTO_PROXY_ADDRESS,
    nonce: String(BigInt(nonce)),
    deadline: String(validUntil),
    witness: { to: payTo, facilitator, validAfter: '0' },
  }
  return {
    signature: await account.signTypedData(permitTypedData(chainId, permit2Authorization)),
    permit2Authorization,
  }
}
