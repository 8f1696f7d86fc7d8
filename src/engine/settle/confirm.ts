import type { AuthorizationRow, ChallengeRow, Put, ReceiptRow, Step } from '../../ports.ts'
import { receiptRole, type TransferUse } from '../../rules/judge-attempt.ts'
import { chargedMicroDollars } from '../../rules/token-amount.ts'
import { applyEvent, type Change, claimedEntry, type EventFacts, putChallenge } from '../apply-event.ts'
import { settleHolds } from '../budgets/holds.ts'
import { afterCommit, type Core, commit, getOne } from '../core.ts'
import { attemptDelivery, deliverLeased } from '../deliver/deliver-plan.ts'
import { refundableAt, routeLease } from '../deliver/deliver-route.ts'
import { deliveredChange } from '../deliver/delivered.ts'
import { notifySeller, outboxRow } from '../deliver/outbox.ts'
import { receiptFields } from '../deliver/sign-receipt.ts'
import { type OpenRail, railTermsOf } from '../rails.ts'
import { otherMoney, refundOf } from '../refund/refund-rows.ts'

/** When a new receipt is checked for the first time on its way to finality. */
const FIRST_LOOK_MS = 2_000

export interface Confirmed {
  attempt: AuthorizationRow
  use: TransferUse
}

/** What a receipt is made of: an attempt, or a plain transfer with a key of its own. */
type Origin = Pick<ReceiptRow, 'key' | 'challengeId' | 'fromHeight' | 'source'> & {
  byKey?: true | undefined
  /** Metered calls: the sealed answer, which is released now. */
  answer?: string | undefined
}
type MovedMoney = Pick<TransferUse, 'from' | 'to' | 'value' | 'txHash' | 'logIndex' | 'block'>

/**
 * T2, the confirmation: in one step per payment the receipt is stored, PENDING becomes PAID, and the log gets its
 * entry. Returns the keys that are settled; the others met a conflict and are looked at again.
 */
export async function confirmPayments(
  core: Core,
  rail: OpenRail,
  confirmed: readonly Confirmed[],
): Promise<Set<string>> {
  if (confirmed.length === 0) return new Set()
  const challenges = await core.store.get(
    'challenges',
    confirmed.map(({ attempt }) => attempt.challengeId),
  )
  const settled = new Set<string>()
  await Promise.all(
    confirmed.map(async (item, index) => {
      const challenge = challenges[index]
      if (!challenge) return reportLost(core, item)
      // A receipt exists only after a reorganisation. The first step is then refused, and the receipt is moved
      // instead.
      const applied =
        (await confirmPayment(core, rail, item, challenge)) || (await relocate(core, rail, item, challenge))
      if (applied) settled.add(item.attempt.key)
    }),
  )
  return settled
}

/**
 * A challenge in flight is missing only if a store lost commits in a failover. That cannot be repaired here, so the
 * operator gets an alert.
 */
async function reportLost(core: Core, { attempt, use }: Confirmed): Promise<void> {
  core.alerts.raise(
    'receipt-lost',
    `the store lost challenge ${attempt.challengeId}, which ${use.from} paid with ${use.value} in ${use.txHash}: run paystile reconcile`,
  )
  // If the attempt is stored, it ends here.
  await commit(core, { puts: [{ table: 'authorizations', row: { ...attempt, phase: 'DEAD', dueAt: null } }] })
}

async function confirmPayment(
  core: Core,
  rail: OpenRail,
  { attempt, use }: Confirmed,
  challenge: ChallengeRow,
): Promise<boolean> {
  const done = { table: 'authorizations' as const, row: confirmedRow(attempt) }
  const applied = await recordReceipt(core, rail, challenge, originOf(attempt), use, [done])
  if (applied) giveBackHolds(core, attempt)
  return applied
}

/**
 * What was held for it is given back, and held anew if a reorganisation undoes the payment. That its answer was streamed
 * stays in the row for that case.
 */
function confirmedRow(attempt: AuthorizationRow): AuthorizationRow {
  const { answer: _, exposure: _held, gasHolds: _gas, ...rest } = attempt
  return { ...rest, phase: 'CONFIRMED', dueAt: null }
}

function giveBackHolds(core: Core, { exposure, streamed = [] }: AuthorizationRow): void {
  if (exposure) void settleHolds(core, [exposure, ...streamed], 'returned')
}

const originOf = ({ key, challengeId, fromHeight, byKey, answer }: AuthorizationRow): Origin => ({
  key,
  challengeId,
  fromHeight,
  source: { kind: 'payment' },
  byKey,
  answer,
})

/**
 * T2, the confirmation, for one transfer without a receipt: it pays the challenge, or it is surplus or late and is
 * refunded.
 */
export async function recordReceipt(
  core: Core,
  rail: OpenRail,
  challenge: ChallengeRow,
  origin: Origin,
  use: MovedMoney,
  others: readonly Put[],
): Promise<boolean> {
  const at = core.clock.now()
  // A plain transfer was never claimed, so its log begins here.
  const plain = origin.source.kind === 'transfer'
  const { requestId, createdAt: openedAt, clientAgentId } = challenge
  const claim = { requestId, at, openedAt, ...(clientAgentId !== null && { clientAgentId }) }
  const first = plain ? [claimedEntry(challenge.key, claim, use.from, at)] : []
  const role = receiptRole(challenge, origin.key)
  const receipt = receiptAt(core, rail, origin, use, role === 'pays' ? 'pays' : 'surplus')
  const puts: Put[] = [
    { table: 'receipts', row: receipt },
    // A payment is identified by its nonce. Its log index would not do: a reorganisation may give it to another
    // transfer of the transaction.
    ...(plain ? [{ table: 'seen' as const, row: seenRow(receipt) }] : []),
    ...others,
  ]
  const facts: EventFacts = {
    at,
    actor: 'gateway',
    txHash: use.txHash,
    details: { value: use.value, payer: use.from },
  }
  const payment = {
    ...paidBy(rail, receipt, use, at),
    ...(origin.byKey && { paidByKey: origin.byKey }),
    ...(origin.answer !== undefined && chargedFields(rail, use.value)),
  }
  if (role === 'pays')
    return confirmPaid(core, { row: challenge, audit: first }, receipt, payment, puts, facts, origin.answer)
  // A challenge may get several payments of one value at once: the log tells them apart.
  const named = { ...facts, details: { ...facts.details, payment: receipt.key } }
  if (role === 'surplus') {
    // The state does not change, so the challenge is not written and its delivery is not disturbed.
    const details = { ...named.details, ...otherMoney(rail.id, use.from) }
    const { audit } = applyEvent(challenge, 'surplus-received', { ...named, details })
    return commit(core, { puts: [...puts, refundOf(receipt, rail, false, at)], audit: [...first, ...audit] })
  }
  const failure = 'the payment arrived after the challenge was closed'
  const late = applyEvent(challenge, 'late-money', named, { ...payment, failure, dueAt: null })
  return commit(core, {
    puts: [...puts, putChallenge(late.row), refundOf(receipt, rail, true, at)],
    audit: [...first, ...late.audit],
  })
}

/** What a metered call cost. */
function chargedFields({ network }: OpenRail, units: string) {
  return { charged: chargedMicroDollars(network.token, units), chargedUnits: units }
}

/** The payment fields of the challenge's row: those of the rail that was paid, even if it was opened on another. */
function paidBy(rail: OpenRail, { key, payer, txHash }: ReceiptRow, { to }: MovedMoney, at: number) {
  return { ...railTermsOf(rail), payTo: to, receipt: key, payer, txHash, paidAt: at, liveAuth: null }
}

async function confirmPaid(
  core: Core,
  before: Change,
  receipt: ReceiptRow,
  payment: ReturnType<typeof paidBy>,
  puts: Put[],
  facts: EventFacts,
  answer: string | undefined,
): Promise<boolean> {
  const leaseUntil = facts.at + core.config.deliveryLeaseMs
  const plan = before.row.kind === 'plan'
  // A plan is delivered right after this step, and a route by the request that waits for it in this process. Both get
  // their lease in this step. A route for which no request waits here is delivered by the buyer's next request.
  const awaited = !plan && core.signals.isAwaited(before.row.key, receipt.key)
  const lease = plan ? { leaseUntil, dueAt: leaseUntil } : routeLease(core, payment, facts.at)
  const next = plan || awaited ? { ...lease, deliveryTries: 1 } : { dueAt: refundableAt(core, payment) }
  const paid = applyEvent(before, 'paid', facts, { ...payment, ...next })
  const { row, audit, puts: changed } = await deliverInstantly(core, paid, facts, answer)
  const outboxEntry =
    core.hooks.onPaymentReceived && outboxRow(row.key, 'payment-received', facts.at + core.config.leaseMs)
  const outbox: Put[] = outboxEntry ? [{ table: 'outbox', row: outboxEntry }] : []
  let assigned = false
  const step: Step = {
    puts: [...puts, ...changed, ...outbox],
    audit,
    // If we sent the payment, T1b is already on the disk: after a power cut the same facts are read from the chain
    // again.
    ...(receipt.source.kind === 'payment' && { durability: 'deferred' as const }),
  }
  const applied = await commit(core, step, () => {
    if (awaited || row.state === 'DELIVERED') assigned = core.signals.assign(afterCommit(row), receipt.key)
  })
  if (!applied) return false
  const { undelivered } = before.row
  if (answer !== undefined && undelivered !== undefined) void settleHolds(core, [undelivered], 'returned')
  if (awaited && !assigned && row.state === 'PAID') void dropLease(core, afterCommit(row))
  if (outboxEntry) void notifySeller(core, afterCommit(outboxEntry))
  // Runs even if the buyer has disconnected. If it fails here, the jobs deliver.
  if (plan && row.state === 'PAID') void deliverLeased(core, afterCommit(row)).catch(() => undefined)
  return true
}

/**
 * The request that should deliver has ended, so the lease is dropped: the buyer's next request must not wait for it.
 */
async function dropLease(core: Core, row: ChallengeRow): Promise<void> {
  const dueAt = refundableAt(core, row)
  // After a conflict or a failure the lease simply expires.
  await commit(core, {
    puts: [putChallenge({ ...row, leaseUntil: null, dueAt })],
    durability: 'deferred',
  }).catch(() => {})
}

/** A credential that is made in this process needs no step of its own: PAID and DELIVERED are stored together. */
async function deliverInstantly(
  core: Core,
  paid: Change,
  facts: EventFacts,
  answer: string | undefined,
): Promise<Change & { puts: Put[] }> {
  if (answer !== undefined) {
    const { undelivered: _, ...row } = paid.row
    return deliveredChange(core, { row, audit: paid.audit }, facts, { result: answer })
  }
  const undelivered = { ...paid, puts: [putChallenge(paid.row)] }
  if (paid.row.kind !== 'plan' || !core.delivery.instant) return undelivered
  const delivered = await attemptDelivery(core, paid.row)
  if (delivered.kind === 'failed') return undelivered
  return deliveredChange(core, paid, facts, { result: delivered.sealed, expiresAt: delivered.expiresAt })
}

/**
 * A reorganisation moved the transfer to another block, so the receipt is updated. False: there is no receipt, or
 * another writer was first.
 */
async function relocate(
  core: Core,
  rail: OpenRail,
  { attempt, use }: Confirmed,
  challenge: ChallengeRow,
): Promise<boolean> {
  const known = await getOne(core, 'receipts', attempt.key)
  if (!known) return false
  const receipt = {
    ...known,
    ...receiptAt(core, rail, originOf(attempt), use, known.role),
    version: known.version,
  }
  const puts: Put[] = [
    { table: 'receipts', row: receipt },
    { table: 'authorizations', row: confirmedRow(attempt) },
  ]
  if (challenge.receipt === receipt.key && challenge.txHash !== use.txHash) {
    const moved = { ...challenge, txHash: use.txHash }
    // A receipt that names a transaction which does not exist proves nothing.
    const signed = challenge.signedReceipt === undefined ? {} : receiptFields(core, moved, core.clock.now())
    puts.push(putChallenge({ ...moved, ...signed }))
  }
  const applied = await commit(core, { puts })
  if (applied) giveBackHolds(core, attempt)
  return applied
}

function receiptAt(
  core: Core,
  rail: OpenRail,
  origin: Origin,
  use: MovedMoney,
  role: ReceiptRow['role'],
): ReceiptRow {
  return {
    key: origin.key,
    version: 0,
    ref: origin.challengeId,
    dueAt: core.clock.now() + FIRST_LOOK_MS,
    challengeId: origin.challengeId,
    rail: rail.id,
    source: origin.source,
    role,
    payer: use.from,
    value: use.value,
    txHash: use.txHash,
    logIndex: use.logIndex,
    blockNumber: use.block.number,
    blockHash: use.block.hash,
    fromHeight: origin.fromHeight,
    finalized: false,
    lost: false,
  }
}

/** Marks a plain transfer as used. */
function seenRow({ key, challengeId }: ReceiptRow) {
  return { key, version: 0, ref: challengeId, dueAt: null, receipt: key }
}
