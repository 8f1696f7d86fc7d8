import type { BookRow, BookSpans, ChallengeRow, StoredTally } from '../facts.ts'
import { DAY_MS, HOUR_MS } from '../protocol/duration.ts'

/** Charts show hours for a week; a few more days are kept, so that none is missed in any order of events. */
export const HOURS_KEPT_DAYS = 33

export const HEAD_KEY = 'head'
export const DAYS_REF = 'days'
export const DUE_REF = 'due'
export const NETWORKS_REF = 'networks'
export const dayOf = (at: number): number => Math.floor(at / DAY_MS)
export const hourOf = (at: number): number => Math.floor(at / HOUR_MS)
export const dayKey = (day: number): string => `day/${day}`
export const spansKey = (day: number): string => `spans/${day}`
export const hoursKey = (day: number): string => `hours/${day}`
export const dueKey = (challengeId: string): string => `due/${challengeId}`
export const networkKey = (networkId: string, token: string): string => `network/${networkId}/${token}`
/** `term` is a payer or a transaction. */
export const termKey = (term: string): string => `of/${term.toLowerCase()}`
export const pageKey = (term: string, page: number): string => `${termKey(term)}/${page}`

/** A row of the book as the one that it must be by its key. */
export function asBooked<K extends BookRow['kind']>(
  row: BookRow | undefined,
  kind: K,
): (BookRow & { kind: K }) | undefined {
  return row?.kind === kind ? (row as BookRow & { kind: K }) : undefined
}

export const emptyTally = (): StoredTally => {
  return { challenges: 0, paid: 0, delivered: 0, refunded: 0, items: [], networks: [] }
}

export function findOrAdd<T>(list: T[], isIt: (one: T) => boolean, otherwise: T): T {
  const known = list.find(isIt)
  if (known === undefined) list.push(otherwise)
  return known ?? otherwise
}

/** The revenue of a sale enters the sums, or leaves them again. */
export function addRevenue(tally: StoredTally, row: ChallengeRow, sign: 1 | -1): void {
  const amount = BigInt(sign) * BigInt(row.charged ?? row.amount)
  const { kind, itemId: id, network } = row
  const item = findOrAdd(tally.items, (one) => one.kind === kind && one.id === id, {
    kind,
    id,
    sold: 0,
    micro: '0',
  })
  const place = findOrAdd(tally.networks, (one) => one.network === network, { network, sold: 0, micro: '0' })
  for (const sum of [item, place]) {
    sum.sold += sign
    sum.micro = String(BigInt(sum.micro) + amount)
  }
}

/** The part of the log in which everything of these hours is, as far as the book goes. */
export function spanOf(
  spans: readonly BookSpans['spans'][number][],
  { firstHour, lastHour }: { firstHour: number; lastHour: number },
): { afterSeq: number; lastSeq: number } | undefined {
  let span: { afterSeq: number; lastSeq: number } | undefined
  for (const { hour, firstSeq, lastSeq } of spans) {
    if (hour < firstHour || hour > lastHour) continue
    span ??= { afterSeq: firstSeq - 1, lastSeq }
    span.afterSeq = Math.min(span.afterSeq, firstSeq - 1)
    span.lastSeq = Math.max(span.lastSeq, lastSeq)
  }
  return span
}
