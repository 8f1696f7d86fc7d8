import type { AuthorizationRow, ChallengeRow } from '../../ports.ts'
import type { StatedCharge } from '../../protocol/charge-rule.ts'
import { chargeOf } from '../../rules/charge.ts'
import { microDollars, tokenUnits } from '../../rules/token-amount.ts'
import { applyEvent, claimedEntry } from '../apply-event.ts'
import { settleHolds } from '../budgets/holds.ts'
import { afterCommit, type Core, commit } from '../core.ts'
import { deliveredChange } from '../deliver/delivered.ts'
import { type OpenRail, railTermsOf } from '../rails.ts'

/** An answered metered call. */
export interface Answered {
  sealed: string
  charge?: StatedCharge | undefined
}

export type ChargedCall =
  /** The charge is stored and is to be settled. */
  | { kind: 'charged'; attempt: AuthorizationRow }
  /** It cost nothing and is delivered. */
  | { kind: 'free' }
  | { kind: 'refused'; reason: string }
  /** The claim was lost meanwhile, so the answer must not be used. */
  | { kind: 'taken' }

/** Stores answer and charge of a metered call in one step. From then on this charge is settled, and no other. */
export async function chargeCall(
  core: Core,
  rail: OpenRail,
  attempt: AuthorizationRow,
  challenge: ChallengeRow,
  { sealed, charge: stated }: Answered,
): Promise<ChargedCall> {
  const { token } = rail.network
  const unstated = core.config.catalog.routes.get(challenge.itemId)?.chargeIfUnstated
  const charge = chargeOf(stated, BigInt(attempt.value), token, unstated)
  if ('fault' in charge) {
    core.alerts.raise('charge-refused', `route ${challenge.itemId}: ${charge.fault}; nothing was charged`)
    return { kind: 'refused', reason: charge.fault }
  }
  if (charge.above !== undefined) {
    core.alerts.raise(
      'charge-refused',
      `route ${challenge.itemId}: a charge of ${charge.above} is above the maximum of ${charge.units}, which is charged instead`,
    )
  }
  // A whole number of micro-dollars, as every amount in the books; the maximum is one.
  const micro = microOf(token, charge.units)
  const units = tokenUnits(token, micro)
  if (units === '0') return deliverFree(core, rail, attempt, challenge, sealed)
  const charged: AuthorizationRow = {
    ...attempt,
    phase: 'CHARGED',
    auth: rail.scheme.metered!.charged(attempt.auth, units),
    value: units,
    answer: sealed,
    dueAt: core.clock.now() + core.config.leaseMs,
  }
  const applied = await commit(core, { puts: [{ table: 'authorizations', row: charged }] })
  return applied ? { kind: 'charged', attempt: afterCommit(charged) } : { kind: 'taken' }
}

function microOf(token: { decimals: number }, units: bigint): string {
  const whole = microDollars(token, units.toString())
  if (whole !== undefined) return whole
  const perMicro = BigInt(tokenUnits(token, '1'))
  return ((units + perMicro - 1n) / perMicro).toString()
}

/** Nothing is settled: there is no transaction, and no receipt. */
async function deliverFree(
  core: Core,
  rail: OpenRail,
  attempt: AuthorizationRow,
  challenge: ChallengeRow,
  sealed: string,
): Promise<ChargedCall> {
  const at = core.clock.now()
  const { payer, undelivered, exposure, claim, streamed = [], gasHolds = [] } = attempt
  const facts = { at, actor: 'gateway' as const, details: { value: '0', payer } }
  const { undelivered: _, ...counted } = challenge
  const paid = applyEvent(
    { row: counted, audit: claim ? [claimedEntry(challenge.key, claim, payer, at)] : [] },
    'paid',
    facts,
    { ...railTermsOf(rail), payer, paidAt: at, liveAuth: null, charged: '0', chargedUnits: '0' },
  )
  const { puts, audit } = deliveredChange(core, paid, facts, { result: sealed })
  const confirmed: AuthorizationRow = { ...attempt, phase: 'CONFIRMED', value: '0', dueAt: null }
  const applied = await commit(core, {
    puts: [...puts, { table: 'authorizations', row: confirmed }],
    audit,
  })
  if (!applied) return { kind: 'taken' }
  await settleHolds(
    core,
    [undelivered, exposure, ...streamed, ...gasHolds].flatMap((key) => key ?? []),
    'returned',
  )
  return { kind: 'free' }
}
