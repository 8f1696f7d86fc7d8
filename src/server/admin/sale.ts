import type { ChallengeRow } from '../../ports.ts'
import { microToDollars } from '../../protocol/amount.ts'
import { awaitsRefund } from '../../rules/sale-events.ts'
import type { LogEntry } from './follow-log.ts'

/** What the sales book keeps about a challenge. */
export interface Sale {
  challengeId: string
  requestId: string
  state: ChallengeRow['state']
  /** Its position among all challenges, oldest first; the list is paged by it. See {@link placeOf}. */
  place: number
  /** The last entry of the log about it that was read. */
  lastSeq: number
  claimedAt: number | null
  refundSince: number | null
  /** A second payment for it, or its unspent credits, wait to be refunded, or could not be refunded. */
  surplus: 'waiting' | 'failed' | null
  /** Each of them. */
  openPayments?: Record<string, 'waiting' | 'failed'>
  /** What goes back for unspent credits, in units of the token. */
  owed?: string
  /** Undefined: the record was removed, as happens to challenges that nobody paid. */
  row: SaleRow | undefined
  /** Everything one can search for, in lower case; prepared, because a search reads tens of thousands of sales. */
  text: string
}

/** Between two entries of the log there is room for challenges that have none. */
const PLACES_PER_ENTRY = 1000

/** The place of a sale that begins with this entry; `further` ones come after it and before the next entry. */
export function placeOf(seq: number, further = 0): number {
  return seq * PLACES_PER_ENTRY + Math.min(further, PLACES_PER_ENTRY - 1)
}

/** The first entry of the log that is not before this place. */
export const seqOfPlace = (place: number): number => Math.ceil(place / PLACES_PER_ENTRY)

/** The part of a record that is worth keeping in memory. */
export type SaleRow = Pick<
  ChallengeRow,
  | 'version'
  | 'transport'
  | 'kind'
  | 'itemId'
  | 'resourceId'
  | 'amount'
  | 'network'
  | 'payer'
  | 'txHash'
  | 'refundTxHash'
  | 'createdAt'
  | 'paidAt'
  | 'clientAgentId'
> & {
  /** Of a metered call: the most that it could cost; `amount` is what it did. */
  maximum?: string
}

export function newSale(
  { challengeId, requestId, fromState }: Pick<LogEntry, 'challengeId' | 'requestId'> & Partial<LogEntry>,
  place: number,
): Sale {
  const open = { claimedAt: null, refundSince: null, surplus: null, row: undefined, text: '' }
  return { challengeId, requestId, state: fromState ?? 'PENDING', place, lastSeq: 0, ...open }
}

/** Copies a stored record into the sale, unless the book already has a newer version. */
export function updateSale(sale: Sale, row: ChallengeRow): void {
  if (sale.row && sale.row.version >= row.version) return
  const { version, transport, kind, itemId, resourceId, network, charged } = row
  const amount = charged ?? row.amount
  const { payer, txHash, refundTxHash, createdAt, paidAt, clientAgentId } = row
  sale.row = {
    ...{ version, transport, kind, itemId, resourceId, amount, network },
    ...{ payer, txHash, refundTxHash, createdAt, paidAt, clientAgentId },
    ...(charged !== undefined && { maximum: row.amount }),
  }
  sale.requestId = row.requestId
  sale.state = row.state
  sale.text = [row.key, row.requestId, payer, txHash, refundTxHash, clientAgentId, itemId, resourceId]
    .join('\n')
    .toLowerCase()
}

export type ShownSale = ReturnType<typeof showSale>

/** As the admin API shows it. */
export function showSale(sale: Pick<Sale, 'challengeId' | 'requestId' | 'state'>, row: SaleRow) {
  const { transport, kind, itemId, resourceId, amount, payer, txHash, refundTxHash, clientAgentId } = row
  return {
    challengeId: sale.challengeId,
    requestId: sale.requestId,
    transport,
    kind,
    itemId,
    resourceId,
    state: sale.state,
    micro: amount,
    usd: microToDollars(BigInt(amount)),
    ...(row.maximum !== undefined && { maximumUsd: microToDollars(BigInt(row.maximum)) }),
    /** The one that it is paid on; of what nobody has paid yet, the preferred one. */
    network: row.network,
    payer,
    txHash,
    refundTxHash,
    createdAt: new Date(row.createdAt).toISOString(),
    paidAt: row.paidAt === null ? null : new Date(row.paidAt).toISOString(),
    clientAgentId,
  }
}

export const saleAwaitsRefund = (sale: Sale): boolean => awaitsRefund(sale, sale.state, sale.row?.kind)
