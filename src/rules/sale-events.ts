import type { AuditEntry, BookDue, ChallengeRow } from '../facts.ts'

/** The events with which the log of a sale can begin. */
const FIRST_EVENTS = new Set(['payment-claimed', 'cancelled'])
const MONEY_EVENTS = new Set(['paid', 'late-money', 'surplus-received'])
const CREDITS_RETURNED_EVENTS = new Set(['credits-refunded', 'credits-refund-proven'])
const REFUNDED_EVENTS = new Set([
  'refund-confirmed',
  'refund-proven',
  'surplus-refunded',
  ...CREDITS_RETURNED_EVENTS,
])

/** The end of a challenge that nobody paid: it is not a sale. */
export function isUnpaid({ event, details }: AuditEntry): boolean {
  return event === 'created' || details?.unpaid === true
}

/** Whether money arrived with it. */
export const isMoney = ({ event }: AuditEntry): boolean => MONEY_EVENTS.has(event)
/** Whether money was returned with it. */
export const isRefund = ({ event }: AuditEntry): boolean => REFUNDED_EVENTS.has(event)
/** Whether the unspent part of a purchase of credits was returned with it. */
export const returnsCredits = ({ event }: AuditEntry): boolean => CREDITS_RETURNED_EVENTS.has(event)

/** Whether a sale may begin with this entry; if it was tried several times, one of these entries is the first. */
export function mayBegin(entry: AuditEntry): boolean {
  return FIRST_EVENTS.has(entry.event) && !isUnpaid(entry)
}

type Numbered = AuditEntry & { seq: number }

/** Whether a sale begins with this entry. The log of the sale is asked for only where its row leaves that open. */
export async function beginsSale(
  entry: Numbered,
  row: Pick<ChallengeRow, 'tries'> | undefined,
  logOf: (challengeId: string) => Promise<readonly Numbered[]>,
): Promise<boolean> {
  if (!mayBegin(entry)) return false
  if (entry.event === 'payment-claimed' && (row?.tries ?? 1) === 1) return true
  return (await logOf(entry.challengeId)).find(mayBegin)?.seq === entry.seq
}

/** What an entry adds to the sums. `earned`: the price counts as revenue, or no longer does. */
export interface Counted {
  step: 'paid' | 'delivered' | 'refunded' | undefined
  earned: 1 | -1 | 0
}

export function countedBy(
  { event, fromState, txHash }: AuditEntry,
  row: Pick<ChallengeRow, 'txHash'> | undefined,
): Counted {
  switch (event) {
    case 'paid':
    case 'late-money':
      return { step: 'paid', earned: 0 }
    case 'delivered':
      return { step: 'delivered', earned: row ? 1 : 0 }
    case 'refund-confirmed':
    case 'refund-proven':
      return { step: 'refunded', earned: 0 }
    case 'receipt-lost': {
      const isLost = fromState === 'DELIVERED' && row !== undefined && row.txHash === txHash
      return { step: undefined, earned: isLost ? -1 : 0 }
    }
  }
  return { step: undefined, earned: 0 }
}

/** What is known of the money that a sale should return. */
export type RefundTrack = Pick<BookDue, 'refundSince' | 'surplus' | 'openPayments' | 'owed'>

/** In {@link BookDue.openPayments}: the refund of unspent credits, of which a sale has one. */
const CREDITS = 'credits'
/** What a row, or a log entry, of an earlier version speaks of: it names no payment. */
const UNNAMED = ''

/** Notes what an entry says about money that should be returned. */
export function trackRefund(
  track: RefundTrack,
  { event, at, txHash, details }: AuditEntry,
  row: Pick<ChallengeRow, 'txHash'> | undefined,
): void {
  const payment = typeof details?.payment === 'string' ? details.payment : UNNAMED
  switch (event) {
    case 'late-money':
      track.refundSince = at
      return
    case 'delivery-failed':
    case 'backend-failed':
      track.refundSince ??= at
      return
    case 'surplus-received':
      setOpen(track, { ...openOf(track), [payment]: 'waiting' })
      return
    case 'surplus-refund-retried':
      changeOpen(track, payment, 'waiting')
      return
    case 'surplus-refund-failed':
      changeOpen(track, payment, 'failed')
      return
    case 'surplus-refunded':
      changeOpen(track, payment, null)
      return
    case 'credits-closed':
      if (details?.value === '0') return
      track.refundSince = at
      track.owed = String(details?.value)
      setOpen(track, { ...openOf(track), [CREDITS]: 'waiting' })
      return
    case 'credits-refund-retried':
      changeOpen(track, CREDITS, 'waiting')
      return
    case 'credits-refund-failed':
      changeOpen(track, CREDITS, 'failed')
      return
    case 'credits-refunded':
    case 'credits-refund-proven':
      changeOpen(track, CREDITS, null)
      return
    case 'receipt-lost':
      // The refund of that payment is void, or that of its credits.
      if (payment in openOf(track)) changeOpen(track, payment, null)
      if (track.owed !== undefined && row?.txHash === txHash) changeOpen(track, CREDITS, null)
  }
}

type OpenPayments = NonNullable<BookDue['openPayments']>

/** A row of an earlier version has one word for all of them. */
function openOf({ openPayments, surplus }: RefundTrack): OpenPayments {
  return openPayments ?? (surplus === null ? {} : { [UNNAMED]: surplus })
}

/** Null: it is refunded. A payment that is not known as open is the unnamed one. */
function changeOpen(track: RefundTrack, payment: string, to: 'waiting' | 'failed' | null): void {
  const open = openOf(track)
  const { [payment in open ? payment : UNNAMED]: _, ...others } = open
  setOpen(track, to === null ? others : { ...others, [payment]: to })
}

function setOpen(track: RefundTrack, open: OpenPayments): void {
  const words = Object.values(open)
  track.openPayments = open
  track.surplus = words.includes('failed') ? 'failed' : (words[0] ?? null)
}

/** Whether money of this sale should be refunded and has not been yet. */
export function awaitsRefund(
  { surplus }: Pick<RefundTrack, 'surplus'>,
  state: ChallengeRow['state'],
  kind: ChallengeRow['kind'] | undefined,
): boolean {
  if (state === 'REFUND_PENDING' || state === 'REFUND_FAILED') return true
  return surplus !== null || (state === 'PAID' && kind === 'route')
}
