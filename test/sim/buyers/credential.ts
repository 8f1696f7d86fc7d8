import { pinnedNonce } from '../../../src/dialects/mpp/read-credential.ts'
import type { ChargeRequest } from '../../../src/dialects/mpp/words.ts'
import type { ChallengeJson } from '../../../src/dialects/mpp/write-challenges.ts'
import type { Authorization } from '../../../src/protocol/authorization.ts'
import type { Address, Hex } from '../../../src/protocol/hex.ts'
import type { Network } from '../../../src/protocol/network.ts'
import type { Accepted, PaymentPayload } from '../../../src/protocol/payment.ts'
import type { SignedPermit } from '../../../src/schemes/upto/permit.ts'
import { signAuthorization } from '../keys.ts'

/** What a buyer by MPP sends. */
export interface Credential {
  challenge: ChallengeJson
  payload: Authorization & { type: 'authorization'; signature: Hex }
  source: string
}

/**
 * A payment in the words of x402. If it is made by MPP, or a maximum by Permit2, the credential or the permit is sent, and the
 * rest is for the invariants.
 */
export type WirePayment = PaymentPayload & { credential?: Credential; permit?: SignedPermit }

/** As MPP's client does it: valid until the challenge expires, under the nonce that follows from its id. */
export function signCredential(
  from: Address,
  challenge: ChallengeJson,
  accepted: Accepted,
  network: Network,
): WirePayment & { credential: Credential } {
  const { amount, recipient } = challenge.request as ChargeRequest
  const authorization: Authorization = {
    from,
    to: recipient as Address,
    value: amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.parse(challenge.expires) / 1000)),
    nonce: pinnedNonce(challenge.id, challenge.realm) as Hex,
  }
  return credentialOf(authorization, signAuthorization(authorization, network), challenge, accepted, network)
}

export function credentialOf(
  authorization: Authorization,
  signature: Hex,
  challenge: ChallengeJson,
  accepted: Accepted,
  { chainId }: Network,
): WirePayment & { credential: Credential } {
  return {
    x402Version: 2,
    payload: { signature, authorization },
    accepted: { ...accepted, extra: { ...accepted.extra } },
    credential: {
      challenge,
      payload: { type: 'authorization', signature, ...authorization },
      source: `did:pkh:eip155:${chainId}:${authorization.from}`,
    },
  }
}
