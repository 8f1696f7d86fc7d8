import type { TableName } from '../../ports.ts'
import type { StoredRow } from '../prepare-step.ts'
import type { Script } from './driver.ts'
import { type Queries, readRow } from './queries.ts'

/** Takes the rows that have been due longest; earlier holders can no longer write them, as `Store.takeDue` promises. */
export function* takeDueRows(
  queries: Queries,
  table: TableName,
  nowMs: number,
  untilMs: number,
  limit: number,
): Script<StoredRow[]> {
  const [found] = yield [queries.lockDue(table, nowMs, limit)]
  const due = found!.rows.map(readRow)
  if (due.length === 0) return []
  const keys = due.map((row) => row.key)
  const [postponed] = yield [queries.postpone(table, keys, untilMs)]
  if (postponed!.changes !== due.length) throw new Error('a row changed while a job took it')
  return due.map((row) => ({ ...row, version: row.version + 1, dueAt: untilMs }))
}
