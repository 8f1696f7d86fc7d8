import type { Network } from '../protocol/network.ts'
import type { Authorization } from '../protocol/payment.ts'

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

/** The EIP-712 message of an EIP-3009 authorization, under the network's own domain. */
export function authorizationTypedData(network: Network, auth: Authorization) {
  return {
    domain: { ...network.domain, chainId: network.chainId, verifyingContract: network.asset },
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: auth.from,
      to: auth.to,
      value: BigInt(auth.value),
      validAfter: BigInt(auth.validAfter),
      validBefore: BigInt(auth.validBefore),
      nonce: auth.nonce,
    },
  } as const
}
