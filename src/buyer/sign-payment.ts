import { randomBytes } from 'node:crypto'
import {
  type Authorization,
  type AuthorizationTypedData,
  authorizationTypedData,
} from '../protocol/authorization.ts'
import { encodeJson } from '../protocol/base64.ts'
import type { Hex } from '../protocol/hex.ts'
import { SCHEME, X402_VERSION } from '../protocol/payment.ts'
import type { StoredPayment } from './payment-storage.ts'
import type { Offer } from './read-offer.ts'

/** Anything that can sign typed data, such as every local account of viem. */
export interface BuyerAccount {
  address: Hex
  signTypedData(data: AuthorizationTypedData): Promise<Hex>
  /** If it is there, the buyer fetches the token of a plan that it still owns by signing in, before it buys another. */
  signMessage?(text: { message: string }): Promise<Hex>
}

export const newNonce = (): Hex => `0x${randomBytes(32).toString('hex')}`

/** Signs the EIP-3009 authorization that an offer asks for, with a new random nonce. */
export async function signPayment(
  account: BuyerAccount,
  offer: Offer,
  { nonce, validUntil, subject, url }: { nonce: Hex; validUntil: number; subject: string; url: string },
): Promise<StoredPayment> {
  const { id, chainId, asset: address, domain } = offer.network
  const authorization: Authorization = {
    from: account.address,
    to: offer.payTo,
    value: String(offer.amountUnits),
    validAfter: '0',
    validBefore: String(validUntil),
    nonce,
  }
  const typedData = authorizationTypedData({ chainId, token: { address, domain } }, authorization)
  const signature = await account.signTypedData(typedData)
  const header = encodeJson({
    x402Version: X402_VERSION,
    scheme: SCHEME,
    network: id,
    ...(offer.resource !== undefined && { resource: offer.resource }),
    accepted: offer.accepted,
    payload: { signature, authorization },
  })
  return {
    header,
    subject,
    network: id,
    amount: String(offer.amountMicro),
    validBefore: authorization.validBefore,
    url,
  }
}
