import { randomBytes } from 'node:crypto'
import { encodeJson } from '../protocol/base64.ts'
import type { Hex } from '../protocol/hex.ts'
import { type Authorization, SCHEME, X402_VERSION } from '../protocol/payment.ts'
import type { StoredPayment } from './payment-storage.ts'
import type { Offer } from './read-offer.ts'

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

/** Whoever can sign typed data; every local account of viem can. */
export interface BuyerAccount {
  address: Hex
  signTypedData(data: {
    domain: { name: string; version: string; chainId: number; verifyingContract: Hex }
    types: typeof TYPES
    primaryType: 'TransferWithAuthorization'
    message: { from: Hex; to: Hex; value: bigint; validAfter: bigint; validBefore: bigint; nonce: Hex }
  }): Promise<Hex>
}

export const newNonce = (): Hex => `0x${randomBytes(32).toString('hex')}`

/** Signs the EIP-3009 authorization that an offer asks for, under a nonce that was never used before. */
export async function signPayment(
  account: BuyerAccount,
  offer: Offer,
  { nonce, validUntil, subject, url }: { nonce: Hex; validUntil: number; subject: string; url: string },
): Promise<StoredPayment> {
  const { network } = offer
  const message = {
    from: account.address,
    to: offer.payTo,
    value: offer.amountMicro,
    validAfter: 0n,
    validBefore: BigInt(validUntil),
    nonce,
  }
  const signature = await account.signTypedData({
    domain: { ...network.domain, chainId: network.chainId, verifyingContract: network.asset },
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    message,
  })
  const authorization: Authorization = {
    from: message.from,
    to: message.to,
    value: String(message.value),
    validAfter: String(message.validAfter),
    validBefore: String(message.validBefore),
    nonce: message.nonce,
  }
  const header = encodeJson({
    x402Version: X402_VERSION,
    scheme: SCHEME,
    network: network.id,
    ...(offer.resource !== undefined && { resource: offer.resource }),
    accepted: offer.accepted,
    payload: { signature, authorization },
  })
  return {
    header,
    subject,
    network: network.id,
    amount: authorization.value,
    validBefore: authorization.validBefore,
    url,
  }
}
