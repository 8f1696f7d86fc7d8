/** The rows of the sales book: what the log says about all sales, summed up and indexed, so that nobody has to read it whole. */
import type { ChallengeState } from './protocol/access.ts'
import type { RowBase } from './row-base.ts'

/** Sums of one hour or day. Amounts are micro-dollars, as decimal text. */
export interface StoredTally {
  challenges: number
  paid: number
  delivered: number
  refunded: number
  items: Array<{ kind: 'plan' | 'route'; id: string; sold: number; micro: string }>
  networks: Array<{ network: string; sold: number; micro: string }>
}

/** A log entry of a sale, by its number, and the sale's challengeId. */
export type BookedSale = [seq: number, challengeId: string]

/** key = `head`. How far the log is in the book. */
export interface BookHead {
  kind: 'head'
  seq: number
  /** Days since the epoch, UTC: the first and the last one that have a row. */
  firstDay: number
  lastDay: number
  states: Partial<Record<ChallengeState, number>>
  /** The number of the log entry before the first one that sold credits; null: none did. */
  creditsFrom: number | null
}

/** key = `day/<day>`; ref = `days`. */
export interface BookDay {
  kind: 'day'
  day: number
  tally: StoredTally
}

/** key = `spans/<day>`. All entries of the log with a time of this hour are between these two, among others. */
export interface BookSpans {
  kind: 'spans'
  spans: Array<{ hour: number; firstSeq: number; lastSeq: number }>
}

/** key = `hours/<day>`. Removed when no chart shows it any more. */
export interface BookHours {
  kind: 'hours'
  day: number
  hours: Array<{ hour: number; tally: StoredTally }>
}

/** key = `of/<payer or transaction>`. Its newest sales, oldest first; `pages` more rows have those before. */
export interface BookTerm {
  kind: 'term'
  pages: number
  sales: BookedSale[]
}

/** key = `of/<payer or transaction>/<page>`; pages count from 0, the oldest. */
export interface BookPage {
  kind: 'page'
  sales: BookedSale[]
}

/** key = `due/<challengeId>`; ref = `due`. A sale of which money should be refunded and has not been yet. */
export interface BookDue {
  kind: 'due'
  challengeId: string
  refundSince: number | null
  /** Of all second payments and unspent credits together. */
  surplus: 'waiting' | 'failed' | null
  /** By the payment that goes back, or `credits`. Absent in rows of earlier versions. */
  openPayments?: Record<string, 'waiting' | 'failed'>
  owed?: string
}

/** key = `network/<id>/<token>`; ref = `networks`. A network that the seller described, for the books of later years. */
export interface BookNetwork {
  kind: 'network'
  id: string
  name: string
  testnet: boolean
  explorerTxUrl: string
  token: { address: string; symbol: string; decimals: number }
}

/** A row of the sales book. */
export type BookRow = RowBase &
  (BookHead | BookDay | BookSpans | BookHours | BookTerm | BookPage | BookDue | BookNetwork)
