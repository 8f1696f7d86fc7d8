import type { ChallengeRow } from '../facts.ts'
import type { Network } from '../protocol/network.ts'
import {
  MAX_TIMEOUT_SECONDS,
  type PaymentRequired,
  type PaymentRequirements,
  type RequirementsExtra,
  SCHEME,
  X402_VERSION,
} from '../protocol/payment.ts'

export type ChallengeTerms = Pick<
  ChallengeRow,
  'key' | 'requestId' | 'kind' | 'itemId' | 'resourceId' | 'resource' | 'amount' | 'asset' | 'payTo'
>

/** The 402 of a challenge. Terms come from the challenge alone; `salt` is fresh in every single one. */
export function paymentRequired(
  challenge: ChallengeTerms,
  gateway: { network: Network; baseUrl: string },
  description: string,
  salt: string,
  error: string,
): PaymentRequired {
  const requirements: PaymentRequirements = {
    scheme: SCHEME,
    network: gateway.network.id,
    asset: challenge.asset,
    amount: challenge.amount,
    payTo: challenge.payTo,
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    extra: extraOf(challenge, gateway.network.domain, description, salt),
  }
  const { method, path } = challenge.resource ?? { method: 'POST', path: '/x402/access' }
  return {
    x402Version: X402_VERSION,
    error,
    resource: { url: `${gateway.baseUrl}${path}`, method, description, mimeType: 'application/json' },
    accepts: [requirements],
    challengeId: challenge.key,
    requestId: challenge.requestId,
  }
}

/** Field by field, once per kind: this runs for every 402, where spreading shows in the profile. */
function extraOf(
  { kind, itemId, key: challengeId, requestId, resourceId }: ChallengeTerms,
  { name, version }: Network['domain'],
  description: string,
  salt: string,
): RequirementsExtra {
  return kind === 'plan'
    ? { name, version, description, planId: itemId, challengeId, requestId, resourceId, salt }
    : { name, version, description, routeId: itemId, challengeId, requestId, resourceId, salt }
}
