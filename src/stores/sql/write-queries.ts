import type { TableName } from '../../ports.ts'
import type { StoredAudit, Write } from '../prepare-step.ts'
import type { Dialect, Param, Query } from './driver.ts'

/** A query that changes rows, and how many it must change: fewer means that another writer was faster. */
export interface Change {
  query: Query
  rows: number
}

export interface WriteQueries {
  /** Changes of one table, each row at most once; written in this order. */
  writes(writes: readonly Write[]): Change[]
  /** The entries get their numbers in this order. */
  appendAudit(entries: readonly StoredAudit[]): Change[]
}

const COLUMNS = { key: 'text', version: 'bigint', ref: 'text', due_at: 'bigint', body: 'text' } as const
const AUDIT_COLUMNS = {
  at: 'bigint',
  challenge_id: 'text',
  request_id: 'text',
  event: 'text',
  from_state: 'text',
  to_state: 'text',
  actor: 'text',
  tx_hash: 'text',
  details: 'text',
} as const

export const ROW_COLUMNS = Object.keys(COLUMNS).join(', ')
export const AUDIT_ROW_COLUMNS = Object.keys(AUDIT_COLUMNS).join(', ')

export function createWriteQueries(
  { records }: Dialect,
  tableNames: Readonly<Record<TableName, string>>,
): WriteQueries {
  return records === undefined ? oneByOne(tableNames) : inBulk(tableNames, records)
}

/** For a database in this process: a prepared statement per row costs less than unpacking a list. */
function oneByOne(tableNames: Readonly<Record<TableName, string>>): WriteQueries {
  const texts = new Map(Object.entries(tableNames).map(([table, name]) => [table, textsOf(name)]))
  const append = `INSERT INTO audit (${AUDIT_ROW_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
  const one = (sql: string, params: Param[]): Change => ({ query: { sql, params }, rows: 1 })
  return {
    writes: (writes) =>
      writes.map(({ table, key, version, row, inPlace }) => {
        const { insert, update, updateInPlace, remove } = texts.get(table)!
        if (row === null) return one(remove, [key, version])
        const { version: next, ref, dueAt, body } = row
        if (version === 0) return one(insert, [key, next, ref, dueAt, body])
        return inPlace
          ? one(updateInPlace, [next, body, key, version])
          : one(update, [next, ref, dueAt, body, key, version])
      }),
    appendAudit: (entries) => entries.map((entry) => one(append, Object.values(auditRecord(entry)))),
  }
}

function textsOf(name: string) {
  return {
    insert: `INSERT INTO ${name} (${ROW_COLUMNS}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`,
    update: `UPDATE ${name} SET version = ?, ref = ?, due_at = ?, body = ? WHERE key = ? AND version = ?`,
    // SQLite writes the index of every column that is named, also where its value stays the same.
    updateInPlace: `UPDATE ${name} SET version = ?, body = ? WHERE key = ? AND version = ?`,
    remove: `DELETE FROM ${name} WHERE key = ? AND version = ?`,
  }
}

/** For a database behind a socket: one statement per table and kind of change, however many rows. */
function inBulk(
  tableNames: Readonly<Record<TableName, string>>,
  records: NonNullable<Dialect['records']>,
): WriteQueries {
  const news = records(COLUMNS)
  const changed = records({ ...COLUMNS, was: 'bigint' })
  const removed = records({ key: 'text', was: 'bigint' })
  const audited = records(AUDIT_COLUMNS)
  const bulk = (sql: string, rows: object[]): Change[] =>
    rows.length === 0 ? [] : [{ query: { sql, params: [JSON.stringify(rows)] }, rows: rows.length }]
  return {
    writes: (writes) => {
      const name = tableNames[writes[0]!.table]
      const removes: object[] = []
      const updates: object[] = []
      const inserts: object[] = []
      for (const { key, version: was, row } of writes) {
        if (row === null) removes.push({ key, was })
        else {
          const record = { key, version: row.version, ref: row.ref, due_at: row.dueAt, body: row.body }
          if (was === 0) inserts.push(record)
          else updates.push({ ...record, was })
        }
      }
      return [
        ...bulk(
          `DELETE FROM ${name} USING ${removed} WHERE ${name}.key = new.key AND ${name}.version = new.was`,
          removes,
        ),
        ...bulk(
          `UPDATE ${name} SET version = new.version, ref = new.ref, due_at = new.due_at, body = new.body FROM ${changed} WHERE ${name}.key = new.key AND ${name}.version = new.was`,
          updates,
        ),
        ...bulk(
          `INSERT INTO ${name} (${ROW_COLUMNS}) SELECT ${ROW_COLUMNS} FROM ${news} ON CONFLICT (key) DO NOTHING`,
          inserts,
        ),
      ]
    },
    appendAudit: (entries) =>
      bulk(
        `INSERT INTO audit (${AUDIT_ROW_COLUMNS}) SELECT ${AUDIT_ROW_COLUMNS} FROM ${audited}`,
        entries.map(auditRecord),
      ),
  }
}

function auditRecord(entry: StoredAudit): Record<keyof typeof AUDIT_COLUMNS, string | number | null> {
  const { at, challengeId, requestId, event, fromState, toState, actor, txHash, details } = entry
  return {
    at,
    challenge_id: challengeId,
    request_id: requestId,
    event,
    from_state: fromState,
    to_state: toState,
    actor,
    tx_hash: txHash,
    details,
  }
}
