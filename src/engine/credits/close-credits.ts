import { GatewayError } from '../../errors.ts'
import type { AuditEntry, ChallengeRow, CreditRow, ReceiptRow, RefundRow } from '../../ports.ts'
import { unspentShare } from '../../rules/credit-lot.ts'
import { assetOfRail, networkOfRail } from '../../rules/rail-id.ts'
import { auditEntry } from '../apply-event.ts'
import { type Core, getOne } from '../core.ts'
import type { ClosedCredits } from '../outcome.ts'
import { refundOf } from '../refund/refund-rows.ts'
import { networkMissing } from '../refusals.ts'
import type { Accounts, AccountView } from './accounts.ts'
import { lapse, reservedOf } from './credit-rows.ts'

/** The purchase behind the credits, as it was read before the step. */
interface Purchase {
  challenge: ChallengeRow
  receipt: ReceiptRow
  /** Of that receipt. */
  refund: RefundRow | undefined
  /** Its network is configured, so a refund of it is sent. */
  sendable: boolean
}

/**
 * The operator ends a purchase of credits. At once nothing more can be reserved; when no call is under way any more,
 * one step makes it `closed` and leaves the intent to refund what is unspent. The sale stays DELIVERED. Repeated, it
 * only tells how it stands.
 */
export async function closeCredits(
  core: Core,
  accounts: Accounts,
  challengeId: string,
): Promise<ClosedCredits | GatewayError> {
  const [challenge, row] = await Promise.all([
    getOne(core, 'challenges', challengeId),
    getOne(core, 'credits', challengeId),
  ])
  if (!challenge) {
    return new GatewayError('CHALLENGE_NOT_FOUND', `No challenge ${challengeId.slice(0, 80)} is known.`)
  }
  if (!row)
    return refusal(challenge, 'granted no credits, or they ended more than a day ago; nothing is owed.')
  const purchase = await purchaseOf(core, challenge)
  accounts.forget(row.ref!)
  const closed = await accounts.change(row.ref!, {
    apply: (view) => closeIn(view, purchase, 'operator'),
  })
  if (closed instanceof GatewayError) return closed
  return statusOf(closed, await getOne(core, 'refunds', purchase.receipt.key))
}

/** For the job: a purchase that is being closed is closed once no call is under way. */
export async function finishClosing(core: Core, accounts: Accounts, due: CreditRow): Promise<void> {
  const challenge = await getOne(core, 'challenges', due.key)
  if (!challenge) throw new Error(`the credits of ${due.key} name no stored challenge`)
  const purchase = await purchaseOf(core, challenge)
  // What cannot be closed here stays `closing`, and is due again soon.
  if (!purchase.sendable) core.rails.reportMissing(purchase.receipt.rail)
  accounts.forget(due.ref!)
  await accounts.change(due.ref!, { apply: (view) => closeIn(view, purchase, 'gateway') })
}

async function purchaseOf(core: Core, challenge: ChallengeRow): Promise<Purchase> {
  const key = challenge.receipt ?? ''
  const [receipt, refund] = await Promise.all([getOne(core, 'receipts', key), getOne(core, 'refunds', key)])
  if (!receipt) throw new Error(`challenge ${challenge.key} has credits and no receipt`)
  return { challenge, receipt, refund, sendable: core.rails.find(receipt.rail) !== undefined }
}

/** The row afterwards. Whatever else changes the row conflicts with this step, so that there is one refund at most. */
function closeIn(
  view: AccountView,
  { challenge, receipt, refund, sendable }: Purchase,
  actor: AuditEntry['actor'],
): CreditRow | GatewayError {
  const row = view.rows.find(({ key }) => key === challenge.key)
  if (!row) return refusal(challenge, 'has no credits any more; nothing is owed.')
  if (row.ended === 'closed') return row
  if (row.ended === 'lost') return refusal(challenge, 'lost its payment on the chain; nothing is owed.')
  if (!row.ended && view.now >= row.expiresAt) {
    const when = new Date(row.expiresAt).toISOString()
    return refusal(
      challenge,
      `ended at ${when}. Credits that have expired are not refunded; nothing is owed.`,
    )
  }
  if (!row.ended && refund) return refusal(challenge, 'was refunded already; nothing more is owed.')
  const current = lapse(row, view.now)
  const { granted, spent } = current
  const value = refund ? '0' : unspentShare(receipt.value, current)
  if (value !== '0' && !sendable) {
    // Nothing is changed: a later call, or the job, finishes what is being closed already.
    if (row.ended) return row
    const rails = [receipt.rail]
    return networkMissing(challenge.key, { what: 'The payment', rails, next: 'close its credits' })
  }
  const facts = { at: view.now, actor }
  const reserved = reservedOf(current)
  if (reserved > 0) {
    const closing: CreditRow = { ...current, ended: 'closing' }
    view.put([closing])
    if (!row.ended) {
      const details = { granted, spent, reserved }
      view.also({ audit: [auditEntry(challenge, 'credits-closing', { ...facts, details })] })
    }
    return closing
  }
  const closed: CreditRow = { ...current, ended: 'closed' }
  const details = { granted, spent, planId: challenge.itemId, value }
  view.put([closed])
  view.also({
    // The refund's nonce follows from the receipt, so that even a lost store cannot pay it twice.
    puts: value === '0' ? [] : [refundOf({ ...receipt, value }, { id: receipt.rail }, false, view.now)],
    audit: [auditEntry(challenge, 'credits-closed', { ...facts, details })],
  })
  return closed
}

function statusOf(row: CreditRow, refund: RefundRow | undefined): ClosedCredits {
  const { key: challengeId, granted, spent, ended } = row
  const status = ended === 'closed' ? 'closed' : 'closing'
  return {
    ...{ challengeId, status, granted, spent, reserved: reservedOf(row) },
    refund: refund
      ? {
          ...{ recipient: refund.recipient, value: refund.value },
          ...{ network: networkOfRail(refund.rail), asset: assetOfRail(refund.rail) },
          ...{ phase: refund.phase, txHash: refund.txHash },
        }
      : null,
  }
}

function refusal({ key }: ChallengeRow, why: string): GatewayError {
  return new GatewayError('INVALID_REQUEST', `The purchase ${key} ${why}`, { challengeId: key })
}
