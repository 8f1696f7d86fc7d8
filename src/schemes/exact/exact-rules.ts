import type { Network } from '../../protocol/network.ts'
import { SCHEME } from '../../protocol/payment.ts'
import {
  authorizationKey,
  isSameAuthorization,
  parseAuthorization,
  type SignedAuthorization,
} from './authorization.ts'
import { validityFault } from './validity.ts'

/** The part of scheme `exact` that needs no chain. */
export function exactRules(network: Pick<Network, 'chainId' | 'token'>) {
  return {
    name: SCHEME,
    parse: parseAuthorization,
    factsOf: ({ from: payer, to, value: amount, validBefore, nonce, signature }: SignedAuthorization) => ({
      key: authorizationKey(network, payer, nonce),
      payer,
      to,
      amount,
      validBefore,
      signature,
    }),
    isSame: isSameAuthorization,
    validityFault,
  }
}
