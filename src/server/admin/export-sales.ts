import { setImmediate as turn } from 'node:timers/promises'
import type { AuditEntry, ChallengeRow, Store } from '../../ports.ts'
import { microToDollars } from '../../protocol/amount.ts'
import type { Network } from '../../protocol/network.ts'
import { printable, printableLine } from '../../protocol/printable.ts'
import { lotOfSale, soldIn } from '../../rules/credit-lot.ts'
import { assetOfRail, networkOfRail } from '../../rules/rail-id.ts'
import { isMoney, isRefund } from '../../rules/sale-events.ts'
import { roundedMicroDollars } from '../../rules/token-amount.ts'
import type { LogEntry } from './follow-log.ts'
import { type FindNetwork, knownNetworks } from './known-networks.ts'
import { logBetween } from './log-between.ts'

export type ExportFormat = 'csv' | 'jsonl'
export interface ExportRange {
  /** Milliseconds; inclusive. */
  from?: number | undefined
  /** Exclusive. */
  to?: number | undefined
}

const AT_ONCE = 50

const COLUMNS = [
  'paidAt',
  'challengeId',
  'requestId',
  'transport',
  'kind',
  'itemId',
  'resourceId',
  'state',
  'priceMicro',
  'priceUsd',
  'receivedMicro',
  'receivedUsd',
  'refundedMicro',
  'refundedUsd',
  'payer',
  'txHashes',
  'refundTxHashes',
  'deliveredAt',
  'refundedAt',
  'clientAgentId',
  'network',
  'asset',
  'payTo',
  'testnet',
  'token',
  'txUrls',
  'refundTxUrls',
  'creditsGranted',
  'creditsSpent',
  'maximumMicro',
] as const
/** A field of an export. */
export type Field = string | number | boolean | null
type Line = Record<(typeof COLUMNS)[number], Field>

/**
 * One line per challenge that was ever paid, oldest first, in chunks of text: the history may be too long for memory.
 * A sale is dated by its first payment.
 *
 * @example
 * import type { Store } from 'paystile'
 *
 * async function print(store: Store): Promise<void> {
 *   for await (const chunk of exportSales(store, 'csv')) process.stdout.write(chunk)
 * }
 */
export async function* exportSales(
  store: Pick<Store, 'log' | 'get' | 'list' | 'audit'>,
  format: ExportFormat,
  { from = 0, to = Number.POSITIVE_INFINITY }: ExportRange = {},
  /** Those that are configured, with the seller's explorers. */
  networks: readonly Network[] = [],
): AsyncGenerator<string> {
  const find = await knownNetworks(store, networks)
  yield* exportLog(store, { format, columns: COLUMNS, from, to }, isMoney, (entry) =>
    lineOf(store, entry, find),
  )
}

/** The lines of those log entries that are wanted, in chunks of text; an entry may turn out to have none. */
export async function* exportLog<Column extends string>(
  store: Pick<Store, 'log' | 'get'>,
  {
    format,
    columns,
    from,
    to,
  }: { format: ExportFormat; columns: readonly Column[]; from: number; to: number },
  isWanted: (entry: LogEntry) => boolean,
  lineOf: (entry: LogEntry) => Promise<Record<Column, Field> | undefined>,
): AsyncGenerator<string> {
  const write = lineWriter(format, columns)
  if (format === 'csv') yield `${columns.join(',')}\r\n`
  for await (const page of logBetween(store, { from, to })) {
    const wanted = page.filter(isWanted)
    for (let start = 0; start < wanted.length; start += AT_ONCE) {
      const lines = await Promise.all(wanted.slice(start, start + AT_ONCE).map(lineOf))
      const text = lines.flatMap((line) => (line ? [write(line)] : [])).join('')
      if (text !== '') yield text
      // The embedded store answers at once: without this, nobody else would be served while a file is made.
      await turn()
    }
  }
}

async function lineOf(
  store: Pick<Store, 'get' | 'list' | 'audit'>,
  { challengeId, seq }: LogEntry,
  find: FindNetwork,
): Promise<Line | undefined> {
  // Read before the log: a row that is removed in between has its last entry there.
  const [credits] = await store.get('credits', [challengeId])
  const audit = await store.audit(challengeId)
  const first = audit.find(isMoney)
  // A surplus or late payment of a challenge that already has its line.
  if (!first || first.seq !== seq) return undefined
  const [[row], receipts, refunds] = await Promise.all([
    store.get('challenges', [challengeId]),
    store.list('receipts', challengeId),
    store.list('refunds', challengeId),
  ])
  if (!row) return undefined
  const lot = audit.some((entry) => soldIn(entry) > 0) ? lotOfSale(credits, audit, Date.now()) : undefined
  const received = receipts.filter(({ lost }) => !lost)
  const refunded = refunds.filter(({ phase }) => phase === 'DONE')
  const timeOf = (isWanted: (entry: AuditEntry) => boolean) => {
    const entry = audit.findLast(isWanted)
    return entry ? new Date(entry.at).toISOString() : null
  }
  return {
    paidAt: new Date(first.at).toISOString(),
    ...idsOf(row, find),
    ...amounts('price', BigInt(row.charged ?? row.amount)),
    maximumMicro: row.charged === undefined ? null : row.amount,
    ...amounts('received', sumMicro(received, find)),
    ...amounts('refunded', sumMicro(refunded, find)),
    txHashes: received.map(({ txHash }) => txHash).join(' '),
    refundTxHashes: refunded.map(({ txHash }) => txHash ?? '').join(' '),
    txUrls: urlsOf(received, find),
    refundTxUrls: urlsOf(refunded, find),
    deliveredAt: timeOf(({ event }) => event === 'delivered'),
    refundedAt: timeOf(isRefund),
    creditsGranted: lot?.granted ?? null,
    creditsSpent: lot?.spent ?? null,
  }
}

/** The pages of these transactions, each on the explorer of its own network. */
function urlsOf(rows: ReadonlyArray<{ rail: string; txHash: string | null }>, find: FindNetwork): string {
  return rows
    .flatMap(({ rail, txHash }) => {
      const explorer = find(networkOfRail(rail), assetOfRail(rail))?.explorerTxUrl
      return explorer && txHash ? [explorer + txHash] : []
    })
    .join(' ')
}

function idsOf(row: ChallengeRow, find: FindNetwork) {
  const { requestId, transport, kind, itemId, resourceId, state, payer, clientAgentId } = row
  const { network, asset, payTo } = row
  const known = find(network, asset)
  const testnet = known?.testnet ?? null
  const token = known?.token.symbol ?? null
  return {
    ...{ challengeId: row.key, requestId, transport, kind, itemId, resourceId, state, payer, clientAgentId },
    ...{ network, asset, payTo, testnet, token },
  }
}

/** In micro-dollars. Values of rows are in units of their token; undefined: nobody knows its decimals. */
export function sumMicro(
  rows: ReadonlyArray<{ rail: string; value: string }>,
  find: FindNetwork,
): bigint | undefined {
  let total = 0n
  for (const { rail, value } of rows) {
    const token = find(networkOfRail(rail), assetOfRail(rail))?.token
    if (!token) return undefined
    total += roundedMicroDollars(token, value)
  }
  return total
}

/** Of an amount that is not known, both are null. */
export function amounts<N extends string>(name: N, micro: bigint | undefined) {
  const pair = {
    [`${name}Micro`]: micro?.toString() ?? null,
    [`${name}Usd`]: micro === undefined ? null : microToDollars(micro).slice(1),
  }
  return pair as Record<`${N}Micro` | `${N}Usd`, string | null>
}

/** Writes a line of an export with these columns. */
function lineWriter<C extends string>(
  format: ExportFormat,
  columns: readonly C[],
): (line: Record<C, Field>) => string {
  if (format === 'csv') return (line) => `${columns.map((column) => csvField(line[column])).join(',')}\r\n`
  return (line) => {
    const sale = Object.fromEntries(columns.map((column) => [column, line[column]]))
    return `${printable(JSON.stringify(sale))}\n`
  }
}

/** Where a formula may begin: in many countries a spreadsheet splits fields at the semicolon, and drops quotes behind it. */
const FORMULA = /(^|;)([\s"]*)(?=[=+\-@＝＋－＠])/g

/** A spreadsheet runs text that begins like a formula, and buyers choose ids; an apostrophe in front makes it plain text. */
export function csvField(value: Field): string {
  const text = printableLine(value === null ? '' : String(value))
  const harmless = text.replace(FORMULA, "$1$2'")
  return /[",]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
