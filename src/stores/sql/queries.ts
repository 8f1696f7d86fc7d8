import type { TableName } from '../../ports.ts'
import type { StoredAudit, StoredRow } from '../prepare-step.ts'
import type { Dialect, Query, Result } from './driver.ts'
import { AUDIT_ROW_COLUMNS, createWriteQueries, ROW_COLUMNS } from './write-queries.ts'

/** In the order in which transactions lock them: always the same, so that there are no deadlocks. */
export const TABLE_NAMES: Readonly<Record<TableName, string>> = {
  challenges: 'challenges',
  requests: 'requests',
  authorizations: 'authorizations',
  receipts: 'receipts',
  seen: 'seen',
  refunds: 'refunds',
  walletTxs: 'wallet_txs',
  outbox: 'outbox',
  holds: 'holds',
  lots: 'lots',
  marks: 'marks',
  credits: 'credits',
  calls: 'calls',
  webhooks: 'webhooks',
  books: 'books',
}

export type Queries = ReturnType<typeof createQueries>

/** Every statement that the store runs. Columns are named, so that a newer version may add some. */
export function createQueries(dialect: Dialect) {
  const { inKeys, forUpdate, skipLocked } = dialect
  const reads = new Map(
    Object.entries(TABLE_NAMES).map(([table, name]) => {
      const rows = `SELECT ${ROW_COLUMNS} FROM ${name} WHERE`
      const [one, some] = [`${rows} key = ?`, `${rows} key ${inKeys}`]
      return [table, { one, some, list: `${rows} ref = ? ORDER BY key` }]
    }),
  )
  return {
    get: (table: TableName, keys: readonly string[]): Query =>
      keys.length === 1
        ? { sql: reads.get(table)!.one, params: [keys[0]!], single: true }
        : { sql: reads.get(table)!.some, params: [JSON.stringify(keys)] },
    list: (table: TableName, ref: string): Query => ({ sql: reads.get(table)!.list, params: [ref] }),
    lockVersions: (table: TableName, keys: readonly string[]): Query => ({
      sql: `SELECT key, version FROM ${TABLE_NAMES[table]} WHERE key ${inKeys} ORDER BY key ${forUpdate}`,
      params: [JSON.stringify(keys)],
    }),
    lockDue: (table: TableName, nowMs: number, limit: number): Query => ({
      sql: `SELECT ${ROW_COLUMNS} FROM ${TABLE_NAMES[table]} WHERE due_at <= ? ORDER BY due_at, key LIMIT ? ${skipLocked}`,
      params: [nowMs, limit],
    }),
    listDue: (table: TableName, offset: number, limit: number): Query => ({
      sql: `SELECT ${ROW_COLUMNS} FROM ${TABLE_NAMES[table]} WHERE due_at IS NOT NULL ORDER BY due_at, key LIMIT ? OFFSET ?`,
      params: [limit, offset],
    }),
    postpone: (table: TableName, keys: readonly string[], untilMs: number): Query => ({
      sql: `UPDATE ${TABLE_NAMES[table]} SET version = version + 1, due_at = ? WHERE key ${inKeys}`,
      params: [untilMs, JSON.stringify(keys)],
    }),
    ...createWriteQueries(dialect, TABLE_NAMES),
    audit: (challengeId: string): Query => ({
      sql: `SELECT seq, ${AUDIT_ROW_COLUMNS} FROM audit WHERE challenge_id = ? ORDER BY seq`,
      params: [challengeId],
    }),
    log: (afterSeq: number, limit: number): Query => ({
      sql: `SELECT seq, ${AUDIT_ROW_COLUMNS} FROM audit WHERE seq > ? ORDER BY seq LIMIT ?`,
      params: [afterSeq, limit],
    }),
    ping: (): Query => ({ sql: 'SELECT 1', params: [] }),
  }
}

export function readRow(row: Result['rows'][number]): StoredRow {
  return {
    key: row.key as string,
    // Some drivers return 64-bit integers as text.
    version: Number(row.version),
    ref: row.ref as string | null,
    dueAt: row.due_at === null ? null : Number(row.due_at),
    body: row.body as string,
  }
}

export function readAudit(row: Result['rows'][number]): StoredAudit & { seq: number } {
  return {
    seq: Number(row.seq),
    at: Number(row.at),
    challengeId: row.challenge_id as string,
    requestId: row.request_id as string,
    event: row.event as string,
    fromState: row.from_state as StoredAudit['fromState'],
    toState: row.to_state as StoredAudit['toState'],
    actor: row.actor as StoredAudit['actor'],
    txHash: row.tx_hash as string | null,
    details: row.details as string | null,
  }
}
