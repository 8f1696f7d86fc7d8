import type { Committed, TableName } from '../../ports.ts'
import { type PreparedStep, rowId, type StoredAudit, type Write } from '../prepare-step.ts'
import { LostRaceError, type Script } from './driver.ts'
import { type Queries, TABLE_NAMES } from './queries.ts'

/**
 * Applies steps in order inside one transaction. The versions of all rows are read once, under lock; each step
 * is then compared with what the steps before it left, and nothing of a refused step is ever written.
 *
 * `optimistic`: the versions are taken from the steps instead of being read. Where one is wrong, a write changes no row
 * and the whole group fails with LostRaceError; the caller then applies it again, reading the versions.
 */
export function* commitGroup(
  queries: Queries,
  steps: readonly PreparedStep[],
  optimistic = false,
): Script<Committed[]> {
  // A step names each of its rows once, so a single step cannot contradict itself.
  if (optimistic && steps.length === 1) {
    yield* write(queries, [steps[0]!.writes], steps[0]!.audit)
    return [{ kind: 'applied' }]
  }
  const all = steps.flatMap((step) => step.writes)
  const found = optimistic ? expectedVersions(all) : yield* lockVersions(queries, all)
  const versions = new Map(found)
  const last = new Map<string, Write>()
  const passing = new Map<string, Write>()
  const log: StoredAudit[] = []
  const results = steps.map(({ writes, audit }): Committed => {
    const stale = writes.find((write) => (versions.get(rowId(write)) ?? 0) !== write.version)
    // A refused step writes nothing, so no write would show that the version it expects is wrong.
    if (stale !== undefined && optimistic) throw new LostRaceError('steps that contradict each other')
    if (stale !== undefined) return { kind: 'conflict', table: stale.table, key: stale.key }
    for (const write of writes) {
      const id = rowId(write)
      versions.set(id, write.row?.version ?? 0)
      // If the group changes a row several times, only the last change is written, from the version that is stored now.
      const stored = found.get(id) ?? 0
      if (stored > 0 || write.row !== null) {
        // In place only if every change of it is.
        const inPlace = write.inPlace && last.get(id)?.inPlace !== false
        last.set(id, { ...write, version: stored, inPlace })
        passing.delete(id)
      } else passing.set(id, { ...write, version: last.get(id)!.row!.version })
    }
    log.push(...audit)
    return { kind: 'applied' }
  })
  // A row that is inserted and removed within the group is still written: the insert is what excludes other writers.
  yield* write(queries, [[...last.values()], [...passing.values()]], log)
  return results
}

/** Writes the batches one after the other, each with one change per row at most; then the log. */
function* write(queries: Queries, batches: readonly Write[][], log: readonly StoredAudit[]): Script<void> {
  const changes = [
    ...batches.flatMap(byTable).flatMap(({ rows }) => queries.writes(rows)),
    ...queries.appendAudit(log),
  ]
  const done = yield changes.map(({ query }) => query)
  // An absent row cannot be locked: if writers do not take turns, another one may insert it meanwhile.
  if (changes.some(({ rows }, index) => done[index]!.changes !== rows)) {
    throw new LostRaceError('a row appeared while it was being inserted')
  }
}

/** The version that the first write of each row expects. */
function expectedVersions(writes: readonly Write[]): Map<string, number> {
  const versions = new Map<string, number>()
  for (const write of writes) {
    const id = rowId(write)
    if (!versions.has(id)) versions.set(id, write.version)
  }
  return versions
}

function* lockVersions(queries: Queries, writes: readonly Write[]): Script<Map<string, number>> {
  const tables = byTable(writes)
  const found = yield tables.map(({ table, rows }) => {
    return queries.lockVersions(table, [...new Set(rows.map((row) => row.key))])
  })
  const versions = new Map<string, number>()
  for (const [index, { table }] of tables.entries()) {
    for (const { key, version } of found[index]!.rows) {
      versions.set(rowId({ table, key: key as string }), Number(version))
    }
  }
  return versions
}

/** Always in the same order, so that two writers of the same rows cannot deadlock. */
function byTable(writes: readonly Write[]): Array<{ table: TableName; rows: Write[] }> {
  return (Object.keys(TABLE_NAMES) as TableName[]).flatMap((table) => {
    const rows = writes.filter((write) => write.table === table)
    rows.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    return rows.length > 0 ? [{ table, rows }] : []
  })
}
