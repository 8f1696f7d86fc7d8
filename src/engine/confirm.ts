import type { AuthorizationRow, ChallengeRow, Put, ReceiptRow, Step } from '../ports.ts'
import { plainOrdinalOf } from '../rules/authorization-key.ts'
import { receiptRole, type TransferUse } from '../rules/judge-attempt.ts'
import { applyEvent, type Change, claimedEntry, type EventFacts, putChallenge } from './apply-event.ts'
import { type Core, commit, getOne, stored } from './core.ts'
import { attemptDelivery, deliverLeased } from './deliver.ts'
import { refundableAt, routeLease } from './deliver-route.ts'
import { outboxRow, tellSeller } from './outbox.ts'
import { refundOf } from './refund-rows.ts'
import { pruneAt } from './retention.ts'

/** When a new receipt is first looked at again, on its way to finality. */
const FIRST_LOOK_MS = 2_000

export interface Confirmed {
  attempt: AuthorizationRow
  use: TransferUse
}

/** What was confirmed: an attempt, or a plain transfer under a key of its own. */
type ReceiptSource = Pick<ReceiptRow, 'key' | 'challengeId' | 'fromHeight'>
type MovedMoney = Pick<TransferUse, 'from' | 'value' | 'txHash' | 'logIndex' | 'block'>

/**
 * T2: what the chain confirmed becomes a receipt, PENDING becomes PAID, and the log says so, in one step each.
 * Answers the keys that are settled; the others met a conflict and are looked at again.
 */
export async function confirmPayments(core: Core, confirmed: readonly Confirmed[]): Promise<Set<string>> {
  if (confirmed.length === 0) return new Set()
  const challenges = await core.store.get(
    'challenges',
    confirmed.map(({ attempt }) => attempt.challengeId),
  )
  const settled = new Set<string>()
  await Promise.all(
    confirmed.map(async (item, index) => {
      const challenge = challenges[index]
      if (!challenge) return tellLost(core, item)
      // Hardly any has a receipt already, and the step is refused if it does.
      const applied = (await confirmPayment(core, item, challenge)) || (await relocate(core, item, challenge))
      if (applied) settled.add(item.attempt.key)
    }),
  )
  return settled
}

/** Only a store that failed over forgets a challenge in flight. Nothing here can mend it: the operator must know. */
async function tellLost(core: Core, { attempt, use }: Confirmed): Promise<void> {
  core.alerts.raise(
    'receipt-lost',
    `the store lost challenge ${attempt.challengeId}, which ${use.from} paid with ${use.value} in ${use.txHash}: run paystile reconcile`,
  )
  // Should the attempt itself be stored, it ends here.
  await commit(core, { puts: [{ table: 'authorizations', row: { ...attempt, phase: 'DEAD', dueAt: null } }] })
}

async function confirmPayment(
  core: Core,
  { attempt, use }: Confirmed,
  challenge: ChallengeRow,
): Promise<boolean> {
  return recordReceipt(core, challenge, attempt, use, [
    { table: 'authorizations', row: { ...attempt, phase: 'CONFIRMED', dueAt: null } },
  ])
}

/** T2 for one transfer that nobody has recorded yet: it pays the challenge, or is too much or too late and goes back. */
export async function recordReceipt(
  core: Core,
  challenge: ChallengeRow,
  source: ReceiptSource,
  use: MovedMoney,
  others: readonly Put[],
): Promise<boolean> {
  const at = core.clock.now()
  // A plain transfer was never claimed: its log begins here.
  const plain = plainOrdinalOf(source.key) !== undefined
  const { requestId, createdAt: openedAt } = challenge
  const first = plain ? [claimedEntry(challenge.key, { requestId, at, openedAt }, use.from)] : []
  const role = receiptRole(challenge, source.key)
  const receipt = receiptAt(core, source, use, role === 'pays' ? 'pays' : 'surplus')
  const puts: Put[] = [
    { table: 'receipts', row: receipt },
    // A payment goes by its nonce. Its place is no name: a reorganisation may give it to its neighbour in the transaction.
    ...(plain ? [{ table: 'seen' as const, row: seenRow(receipt) }] : []),
    ...others,
  ]
  const facts: EventFacts = {
    at,
    actor: 'gateway',
    txHash: use.txHash,
    details: { value: use.value, payer: use.from },
  }
  if (role === 'pays') return confirmPaid(core, { row: challenge, audit: first }, receipt, puts, facts)
  if (role === 'surplus') {
    // The state does not move, so the challenge is not written: nothing of its delivery is disturbed.
    const { audit } = applyEvent(challenge, 'surplus-received', facts)
    return commit(core, { puts: [...puts, refundOf(receipt, false, at)], audit: [...first, ...audit] })
  }
  const failure = 'the payment arrived after the challenge was closed'
  const late = applyEvent(challenge, 'late-money', facts, { ...paidBy(receipt, at), failure, dueAt: null })
  return commit(core, {
    puts: [...puts, putChallenge(late.row), refundOf(receipt, true, at)],
    audit: [...first, ...late.audit],
  })
}

function paidBy(receipt: ReceiptRow, at: number) {
  return { receipt: receipt.key, payer: receipt.payer, txHash: receipt.txHash, paidAt: at, liveAuth: null }
}

async function confirmPaid(
  core: Core,
  before: Change,
  receipt: ReceiptRow,
  puts: Put[],
  facts: EventFacts,
): Promise<boolean> {
  const leaseUntil = facts.at + core.config.deliveryLeaseMs
  const payment = paidBy(receipt, facts.at)
  const plan = before.row.kind === 'plan'
  // A plan is delivered right after this step, and a route by the request that waits for it here: under a lease that
  // is taken in it. A route that nobody waits for here waits for its buyer's next request.
  const awaited = !plan && core.signals.isAwaited(before.row.key, receipt.key)
  const lease = plan ? { leaseUntil, dueAt: leaseUntil } : routeLease(core, payment, facts.at)
  const next = plan || awaited ? { ...lease, deliveryTries: 1 } : { dueAt: refundableAt(core, payment) }
  const paid = applyEvent(before, 'paid', facts, { ...payment, ...next })
  const { row, audit } = await deliverInstantly(core, paid, facts)
  const told =
    core.hooks.onPaymentReceived && outboxRow(row.key, 'payment-received', facts.at + core.config.leaseMs)
  const outbox: Put[] = told ? [{ table: 'outbox', row: told }] : []
  const isOurs = plainOrdinalOf(receipt.key) === undefined
  let handed = false
  const step: Step = {
    puts: [...puts, putChallenge(row), ...outbox],
    audit,
    // Of a payment that we sent, T1b is on the disk: should the power fail, the chain says all of this once more.
    soft: isOurs,
  }
  const applied = await commit(core, step, () => {
    if (awaited || row.state === 'DELIVERED') handed = core.signals.hand(stored(row), receipt.key)
  })
  if (!applied) return false
  if (awaited && !handed) void dropLease(core, stored(row))
  if (told) void tellSeller(core, stored(told))
  // Also when the buyer has gone: a disconnect does not stop a purchase. A failure here is found by the jobs.
  if (plan && row.state === 'PAID') void deliverLeased(core, stored(row)).catch(() => undefined)
  return true
}

/** The request that was to deliver has gone meanwhile: the buyer's next one must not wait for it. */
async function dropLease(core: Core, row: ChallengeRow): Promise<void> {
  const dueAt = refundableAt(core, row)
  // A conflict or a failure leaves a lease that ends by itself.
  await commit(core, { puts: [putChallenge({ ...row, leaseUntil: null, dueAt })], soft: true }).catch(
    () => {},
  )
}

/** A credential that we make ourselves needs no step of its own: PAID and DELIVERED are written together. */
async function deliverInstantly(core: Core, paid: Change, facts: EventFacts): Promise<Change> {
  if (paid.row.kind !== 'plan' || !core.delivery.instant) return paid
  const delivered = await attemptDelivery(core, paid.row)
  if (delivered.kind === 'failed') return paid
  const dueAt = pruneAt(core, paid.row.paidAt)
  return applyEvent(paid, 'delivered', facts, { result: delivered.sealed, leaseUntil: null, dueAt })
}

/** A reorganisation moved the transfer: the receipt follows it. False: it has none to move, or somebody else was first. */
async function relocate(core: Core, { attempt, use }: Confirmed, challenge: ChallengeRow): Promise<boolean> {
  const known = await getOne(core, 'receipts', attempt.key)
  if (!known) return false
  const receipt = { ...known, ...receiptAt(core, attempt, use, known.role), version: known.version }
  const puts: Put[] = [
    { table: 'receipts', row: receipt },
    { table: 'authorizations', row: { ...attempt, phase: 'CONFIRMED', dueAt: null } },
  ]
  if (challenge.receipt === receipt.key && challenge.txHash !== use.txHash) {
    puts.push(putChallenge({ ...challenge, txHash: use.txHash }))
  }
  return commit(core, { puts })
}

function receiptAt(
  core: Core,
  attempt: ReceiptSource,
  use: MovedMoney,
  role: ReceiptRow['role'],
): ReceiptRow {
  return {
    key: attempt.key,
    version: 0,
    ref: attempt.challengeId,
    dueAt: core.clock.now() + FIRST_LOOK_MS,
    challengeId: attempt.challengeId,
    role,
    payer: use.from,
    value: use.value,
    txHash: use.txHash,
    logIndex: use.logIndex,
    blockNumber: use.block.number,
    blockHash: use.block.hash,
    fromHeight: attempt.fromHeight,
    finalized: false,
    lost: false,
  }
}

/** Of a plain transfer. */
function seenRow({ key, challengeId }: ReceiptRow) {
  return { key, version: 0, ref: challengeId, dueAt: null, receipt: key }
}
