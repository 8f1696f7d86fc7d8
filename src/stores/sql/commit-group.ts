import type { Committed, TableName } from '../../ports.ts'
import { type PreparedStep, rowId, type Write } from '../prepare-step.ts'
import type { Query, Script } from './driver.ts'
import { type Queries, TABLE_NAMES } from './queries.ts'

/**
 * Applies steps in order inside one transaction. The versions of all rows are read once, under lock; each step
 * is then judged against what the steps before it left, and nothing of a refused step is ever written.
 */
export function* commitGroup(queries: Queries, steps: readonly PreparedStep[]): Script<Committed[]> {
  const versions = yield* lockVersions(
    queries,
    steps.flatMap((step) => step.writes),
  )
  const changes: Query[] = []
  const results = steps.map(({ writes, audit }): Committed => {
    const stale = writes.find((write) => (versions.get(rowId(write)) ?? 0) !== write.version)
    if (stale !== undefined) return { kind: 'conflict', table: stale.table, key: stale.key }
    for (const write of writes) versions.set(rowId(write), write.row?.version ?? 0)
    changes.push(...writes.map(queries.write), ...audit.map(queries.appendAudit))
    return { kind: 'applied' }
  })
  const done = yield changes
  // A row that was absent cannot be locked: where writers do not take turns, another may insert it meanwhile.
  if (done.some((result) => result.changes !== 1))
    throw new Error('a row appeared while it was being inserted')
  return results
}

function* lockVersions(queries: Queries, writes: readonly Write[]): Script<Map<string, number>> {
  const tables = (Object.keys(TABLE_NAMES) as TableName[]).flatMap((table) => {
    const keys = new Set(writes.flatMap((write) => (write.table === table ? [write.key] : [])))
    return keys.size > 0 ? [{ table, keys: [...keys] }] : []
  })
  const found = yield tables.map(({ table, keys }) => queries.lockVersions(table, keys))
  const versions = new Map<string, number>()
  for (const [index, { table }] of tables.entries()) {
    for (const { key, version } of found[index]!.rows) {
      versions.set(rowId({ table, key: key as string }), Number(version))
    }
  }
  return versions
}
