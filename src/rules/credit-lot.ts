import type { AuditEntry, CreditRow } from '../facts.ts'

/** `closing`: the operator closes it, and calls are still under way. `lost`: the chain took its payment back. */
export type LotStatus = 'running' | 'expired' | 'closing' | 'closed' | 'lost'

/** One purchase of credits, as the books know it: while its row is stored, and from the log afterwards. */
export interface CreditLot {
  challengeId: string
  payer: string
  planId: string
  granted: number
  spent: number
  /** For calls that are under way. */
  reserved: number
  status: LotStatus
  /** When it ends, or has ended (ms); null: only its removal is known. */
  expiresAt: number | null
}

/** Sums over purchases. `sold` is always the sum of the six that follow it. */
export interface CreditFigures {
  lots: number
  sold: number
  spent: number
  reserved: number
  /** Can still be spent, or goes back once a closing one is closed. */
  outstanding: number
  /** Not spent in time. */
  expired: number
  /** Unspent, and refunded. */
  closed: number
  /** Unspent when the chain took the payment back. */
  lost: number
  /** Part of `spent`: calls that were answered for payments which the chain took back. */
  spentUnpaid: number
}

export function lotOfRow(row: CreditRow, now: number): CreditLot {
  const { key: challengeId, granted, spent, expiresAt, ended } = row
  const [payer, planId] = row.ref!.split('/') as [string, string]
  const reserved = row.reserved.reduce(
    (sum, { credits, until, lapsed }) => (lapsed || now >= until ? sum : sum + credits),
    0,
  )
  const status = ended ?? (now < expiresAt ? 'running' : 'expired')
  return { challengeId, payer, planId, granted, spent, reserved, status, expiresAt }
}

/** The purchase as its last log entry tells it; undefined: not such an entry. */
export function lotOfEntry({ event, challengeId, details, at }: AuditEntry): CreditLot | undefined {
  if (event !== 'credits-ended' || !details) return undefined
  const { granted, spent, planId, payer, ended } = details
  const status = ended === 'closed' || ended === 'lost' ? ended : 'expired'
  return {
    ...{ challengeId, payer: String(payer), planId: String(planId), status, reserved: 0, expiresAt: at },
    ...{ granted: Number(granted), spent: Number(spent) },
  }
}

/** How many credits a delivery sold, by its log entry. */
export function soldIn({ event, details }: AuditEntry): number {
  return event === 'delivered' && typeof details?.credits === 'number' ? details.credits : 0
}

/** A sale's credits: from its row, or from its log once the row is removed. Undefined: it had none. */
export function lotOfSale(
  row: CreditRow | undefined,
  audit: readonly AuditEntry[],
  now: number,
): CreditLot | undefined {
  if (row) return lotOfRow(row, now)
  for (const entry of audit) {
    const lot = lotOfEntry(entry)
    if (lot) return lot
  }
  return undefined
}

export function figuresOf(lots: Iterable<CreditLot>): CreditFigures {
  const sums = noFigures()
  for (const lot of lots) addLot(sums, lot)
  return sums
}

export function noFigures(): CreditFigures {
  return {
    ...{ lots: 0, sold: 0, spent: 0, reserved: 0, outstanding: 0, expired: 0, closed: 0, lost: 0 },
    spentUnpaid: 0,
  }
}

export function addLot(sums: CreditFigures, { granted, spent, reserved, status }: CreditLot): void {
  sums.lots += 1
  sums.sold += granted
  sums.spent += spent
  sums.reserved += reserved
  sums[status === 'running' || status === 'closing' ? 'outstanding' : status] += granted - spent - reserved
  if (status === 'lost') sums.spentUnpaid += spent
}

export function addFigures(sums: CreditFigures, more: CreditFigures): void {
  for (const name of Object.keys(sums) as Array<keyof CreditFigures>) sums[name] += more[name]
}

/** What was paid for the unspent credits, in units of the token, rounded down. */
export function unspentShare(paid: string, { granted, spent }: { granted: number; spent: number }): string {
  return ((BigInt(paid) * BigInt(granted - spent)) / BigInt(granted)).toString()
}
