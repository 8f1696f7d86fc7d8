import type { AuthorizationRow, ChallengeRow } from '../../ports.ts'
import { saltHashOf } from '../../rules/ownership.ts'
import { putChallenge } from '../apply-event.ts'
import { holdExposure } from '../budgets/exposure.ts'
import { putHold } from '../budgets/holds.ts'
import { holdUndelivered } from '../budgets/refund-cap.ts'
import type { OpenChallenge, PaidIntent } from '../challenge/find-challenge.ts'
import { afterCommit, type Core, commit } from '../core.ts'
import { urlField } from '../deliver/sign-receipt.ts'
import { type OpenRail, railTermsOf } from '../rails.ts'
import type { CheckedPayment } from './check-payment.ts'

/**
 * T1, the claim. The insert decides: of all payments racing for this challenge, on whatever rail, and of all
 * settlements racing on this payment, exactly one wins. Undefined: another one was first.
 */
export async function claimPayment(
  core: Core,
  rail: OpenRail,
  { challenge, inserts, released }: OpenChallenge,
  { signed, byKey }: CheckedPayment,
  { payment, clientAgentId, url }: PaidIntent,
): Promise<AuthorizationRow | undefined> {
  const hold = await holdUndelivered(core, rail, challenge, payment.payer)
  const at = core.clock.now()
  const value = core.rails.termsOn(challenge, rail).amount
  const exposure = rail.scheme.metered && holdExposure(core, rail, payment, value)
  const agent = challenge.clientAgentId ?? clientAgentId ?? null
  const attempt: AuthorizationRow = {
    key: payment.key,
    version: released?.version ?? 0,
    ref: challenge.key,
    // A metered call is made under its claim.
    dueAt: at + (exposure ? core.config.deliveryLeaseMs : core.config.leaseMs),
    challengeId: challenge.key,
    rail: rail.id,
    auth: signed,
    payer: payment.payer,
    value,
    saltHash: saltHashOf(payment.salt),
    claim: {
      ...{ requestId: challenge.requestId, at, openedAt: challenge.createdAt },
      ...(agent !== null && { clientAgentId: agent }),
    },
    phase: 'CLAIMED',
    ...(byKey && { byKey }),
    fromHeight: 0,
    walletTx: null,
    sends: 0,
    batchLimit: null,
    reason: null,
    ...(hold && { undelivered: hold.key }),
    ...(exposure && { exposure: exposure.key }),
  }
  const claimed: ChallengeRow = {
    ...challenge,
    ...(challenge.rail !== rail.id && {
      ...railTermsOf(rail),
      offeredRail: challenge.offeredRail ?? challenge.rail,
    }),
    claimed: true,
    liveAuth: attempt.key,
    dueAt: null,
    clientAgentId: agent,
    tries: (challenge.tries ?? 0) + (released ? 0 : 1),
    ...(hold && { undelivered: hold.key }),
    ...urlField(core, challenge, url),
    ...creditsField(core, challenge),
  }
  const applied = await commit(core, {
    puts: [
      putChallenge(claimed),
      { table: 'authorizations', row: attempt },
      ...inserts,
      ...(hold ? [putHold(hold)] : []),
      ...(exposure ? [putHold(exposure)] : []),
    ],
    // Nothing is sent before T1b, the broadcast step, which makes this one durable too.
    durability: 'deferred',
  })
  return applied ? afterCommit(attempt) : undefined
}

/** What was offered with the price is what is bought. Rows of earlier versions do not say: they buy what the plan grants now. */
function creditsField(
  { config }: Core,
  { kind, itemId, credits: offered }: ChallengeRow,
): Pick<ChallengeRow, 'credits'> {
  if (offered !== undefined) return { credits: offered }
  const credits = kind === 'plan' ? (config.catalog.plans.get(itemId)?.credits ?? 0) : 0
  return credits > 0 ? { credits } : {}
}
