import type { AuditEntry, CreditRow } from '../../ports.ts'
import { type CreditLot, figuresOf, lotOfSale, unspentShare } from '../../rules/credit-lot.ts'
import { apiReply } from '../api-reply.ts'
import type { SalesBook } from './sales-book.ts'

const STATUSES = ['running', 'expired', 'closing', 'closed', 'lost'] as const
const MAX_LIMIT = 500

/** As the admin API shows a purchase of credits. */
export function showLot(lot: CreditLot) {
  const { outstanding: left } = figuresOf([lot])
  const expiresAt = lot.expiresAt === null ? null : new Date(lot.expiresAt).toISOString()
  return { ...lot, left, expiresAt }
}

export type ShownLot = ReturnType<typeof showLot>

/** The credits of one sale, with what would go back if it were closed now; undefined: it sold none. */
export function creditsOfSale(
  amount: string,
  row: CreditRow | undefined,
  audit: readonly AuditEntry[],
  now: number,
) {
  const lot = lotOfSale(row, audit, now)
  if (!lot) return undefined
  const canClose = lot.status === 'running'
  return { ...showLot(lot), canClose, unspentMicro: canClose ? unspentShare(amount, lot) : '0' }
}

/** Credits sold, spent and outstanding, in all, per plan and per wallet. */
export async function creditsPage(book: SalesBook): Promise<Response> {
  await book.refresh()
  await book.credits.refresh()
  const { asOf, ...report } = book.credits.report()
  const reading = book.reading()
  return apiReply(200, { asOf: new Date(asOf).toISOString(), ...report, ...(reading && { reading }) })
}

/** The purchases whose credits are still stored, the newest first. */
export async function lotsPage(book: SalesBook, query: URLSearchParams): Promise<Response> {
  const bad = (error: string) => apiReply(400, { error })
  const status = query.get('status') || undefined
  const before = query.get('before') || undefined
  const limit = Number(query.get('limit') || 50)
  if (status !== undefined && !STATUSES.some((known) => known === status))
    return bad(`status can be ${STATUSES.join(', ')}.`)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    return bad(`limit can be 1 to ${MAX_LIMIT}.`)
  if (before !== undefined && !/^\d{1,15}$/.test(before)) return bad('before is not a cursor of this list.')
  await book.refresh()
  await book.credits.refresh()
  const { found, next, total } = book.credits.find({
    ...{ q: query.get('q') || undefined, status, limit },
    before: before === undefined ? undefined : Number(before),
  })
  return apiReply(200, { items: found.map(showLot), next: next?.toString() ?? null, total })
}
