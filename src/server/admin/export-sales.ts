import type { ChallengeRow, Store } from '../../ports.ts'
import { microToDollars } from '../../protocol/amount.ts'
import type { Network } from '../../protocol/network.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import { printable, printableLine } from '../../protocol/printable.ts'
import { networkOfRail } from '../../rules/rail-id.ts'
import { microDollars } from '../../rules/token-amount.ts'
import type { LogEntry } from './follow-log.ts'

export type ExportFormat = 'csv' | 'jsonl'
export interface ExportRange {
  /** Milliseconds; inclusive. */
  from?: number | undefined
  /** Exclusive. */
  to?: number | undefined
}

type FindById = (networkId: string) => Network | undefined

const PAGE = 1000
const AT_ONCE = 50
const MONEY_EVENTS = new Set(['paid', 'late-money', 'surplus-received'])

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
] as const
type Line = Record<(typeof COLUMNS)[number], string | boolean | null>

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
  /** Those that are configured, with the seller's explorers. Others are looked up among the known ones. */
  networks: readonly Network[] = [],
): AsyncGenerator<string> {
  const find = (id: string) => [...networks, ...NETWORKS].find((network) => network.id === id)
  const write = format === 'csv' ? csvLine : jsonLine
  if (format === 'csv') yield `${COLUMNS.join(',')}\r\n`
  for (let afterSeq = 0; ; ) {
    const page = await store.log(afterSeq, PAGE)
    const wanted = page.filter(({ event, at }) => MONEY_EVENTS.has(event) && at >= from && at < to)
    for (let start = 0; start < wanted.length; start += AT_ONCE) {
      const lines = await Promise.all(
        wanted.slice(start, start + AT_ONCE).map((entry) => lineOf(store, entry, find)),
      )
      const text = lines.flatMap((line) => (line ? [write(line)] : [])).join('')
      if (text !== '') yield text
    }
    if (page.length < PAGE) return
    afterSeq = page.at(-1)!.seq
  }
}

async function lineOf(
  store: Pick<Store, 'get' | 'list' | 'audit'>,
  { challengeId, seq }: LogEntry,
  find: FindById,
): Promise<Line | undefined> {
  const audit = await store.audit(challengeId)
  const first = audit.find(({ event }) => MONEY_EVENTS.has(event))
  // A surplus or late payment of a challenge that already has its line.
  if (!first || first.seq !== seq) return undefined
  const [[row], receipts, refunds] = await Promise.all([
    store.get('challenges', [challengeId]),
    store.list('receipts', challengeId),
    store.list('refunds', challengeId),
  ])
  if (!row) return undefined
  const received = receipts.filter(({ lost }) => !lost)
  const refunded = refunds.filter(({ phase }) => phase === 'DONE')
  const timeOf = (events: readonly string[]) => {
    const entry = audit.findLast(({ event }) => events.includes(event))
    return entry ? new Date(entry.at).toISOString() : null
  }
  return {
    paidAt: new Date(first.at).toISOString(),
    ...idsOf(row, find),
    ...amounts('price', BigInt(row.amount)),
    ...amounts('received', sum(received, find)),
    ...amounts('refunded', sum(refunded, find)),
    txHashes: received.map(({ txHash }) => txHash).join(' '),
    refundTxHashes: refunded.map(({ txHash }) => txHash ?? '').join(' '),
    txUrls: urlsOf(received, find),
    refundTxUrls: urlsOf(refunded, find),
    deliveredAt: timeOf(['delivered']),
    refundedAt: timeOf(['refund-confirmed', 'refund-proven', 'surplus-refunded']),
  }
}

/** The pages of these transactions, each on the explorer of its own network. */
function urlsOf(rows: ReadonlyArray<{ rail: string; txHash: string | null }>, find: FindById): string {
  return rows
    .flatMap(({ rail, txHash }) => {
      const explorer = find(networkOfRail(rail))?.explorerTxUrl
      return explorer && txHash ? [explorer + txHash] : []
    })
    .join(' ')
}

function idsOf(row: ChallengeRow, find: FindById) {
  const { requestId, transport, kind, itemId, resourceId, state, payer, clientAgentId } = row
  const { network, asset, payTo } = row
  // A program that does not know the network must not take test money for real money.
  const known = find(network)
  const testnet = known?.testnet ?? true
  const token = known?.token.symbol ?? null
  return {
    ...{ challengeId: row.key, requestId, transport, kind, itemId, resourceId, state, payer, clientAgentId },
    ...{ network, asset, payTo, testnet, token },
  }
}

/** In micro-dollars; values of rows are in units of their token. */
function sum(rows: ReadonlyArray<{ rail: string; value: string }>, find: FindById): bigint {
  return rows.reduce((total, { rail, value }) => {
    const token = find(networkOfRail(rail))?.token
    return total + BigInt((token && microDollars(token, value)) ?? value)
  }, 0n)
}

function amounts<N extends string>(name: N, micro: bigint) {
  const pair = { [`${name}Micro`]: micro.toString(), [`${name}Usd`]: microToDollars(micro).slice(1) }
  return pair as Record<`${N}Micro` | `${N}Usd`, string>
}

function jsonLine(line: Line): string {
  const sale = Object.fromEntries(COLUMNS.map((column) => [column, line[column]]))
  return `${printable(JSON.stringify(sale))}\n`
}

function csvLine(line: Line): string {
  return `${COLUMNS.map((column) => csvField(line[column])).join(',')}\r\n`
}

/** Where a formula may begin: in many countries a spreadsheet splits fields at the semicolon, quoted or not. */
const FORMULA = /(^|;)(\s*)(?=[=+\-@＝＋－＠])/g

/** A spreadsheet runs text that begins like a formula, and buyers choose ids; an apostrophe in front makes it plain text. */
export function csvField(value: string | boolean | null): string {
  const text = printableLine(value === null ? '' : String(value))
  const harmless = text.replace(FORMULA, "$1$2'")
  return /[",]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
