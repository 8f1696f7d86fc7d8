import { privateKeyToAccount } from 'viem/accounts'
import type { RefundSigner } from '../../ports.ts'
import { authorizationTypedData } from '../../protocol/authorization.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import type { Network } from '../../protocol/network.ts'
import { authorizationKey, type SignedAuthorization } from './authorization.ts'
import { refundNonceOf } from './refund-nonce.ts'

/**
 * How long a refund's authorization is valid. A longer time would only delay the next try of one that cannot land.
 */
const REFUND_VALIDITY_SECONDS = 900

/** Signs EIP-3009 authorizations from the refund wallet, which anybody may then submit. */
export function createRefundSigner(privateKey: Hex, network: Network): RefundSigner {
  const account = privateKeyToAccount(privateKey)
  const address = account.address.toLowerCase() as Address
  const nonceOf = (receiptKey: string): Hex => refundNonceOf(receiptKey, network.token.address)
  return {
    address,
    keyOf: (receiptKey) => authorizationKey(network, address, nonceOf(receiptKey)),
    async sign({ receiptKey, recipient, value }, chainTime) {
      const auth = {
        from: address,
        to: recipient,
        value,
        validAfter: '0',
        validBefore: String(chainTime + REFUND_VALIDITY_SECONDS),
        nonce: nonceOf(receiptKey),
      }
      const signature = await account.signTypedData(authorizationTypedData(network, auth))
      const signed: SignedAuthorization = { ...auth, signature }
      return signed
    },
  }
}
