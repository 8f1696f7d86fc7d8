import { privateKeyToAccount } from 'viem/accounts'
import type { RefundSigner } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { authorizationTypedData } from './authorization-typed-data.ts'
import { refundNonceOf } from './refund-nonce.ts'

/** The refund wallet's key: signs EIP-3009 authorizations from itself, which anyone may then submit. */
export function createRefundSigner(privateKey: Hex, network: Network): RefundSigner {
  const account = privateKeyToAccount(privateKey)
  const address = account.address.toLowerCase() as Address
  return {
    address,
    nonceOf: (receiptKey) => refundNonceOf(receiptKey, network.asset),
    async sign(auth) {
      if (auth.from !== address)
        throw new Error(`the refund wallet is ${address}; it cannot sign for ${auth.from}`)
      return account.signTypedData(authorizationTypedData(network, auth))
    },
  }
}
