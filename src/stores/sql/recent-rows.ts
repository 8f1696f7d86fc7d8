import type { TableName } from '../../ports.ts'
import { rowId, type StoredRow, type Write } from '../prepare-step.ts'

const MAX_ROWS = 4096

/**
 * A cache of the rows written last, for a store with one writer: a purchase reads rows that it has just written several
 * times.
 */
export interface RecentRows {
  /** Undefined: not in the cache. */
  get(table: TableName, key: string): StoredRow | undefined
  /** Adds rows, in the order in which they were committed. */
  committed(writes: ReadonlyArray<Pick<Write, 'table' | 'key' | 'row'>>): void
  /** Called when it is not known what was stored. */
  forget(): void
}

export function createRecentRows(): RecentRows {
  const rows = new Map<string, StoredRow>()
  return {
    get: (table, key) => rows.get(rowId({ table, key })),
    committed(writes) {
      for (const write of writes) {
        const id = rowId(write)
        // Newest last, so that the oldest is removed first.
        rows.delete(id)
        if (write.row !== null) rows.set(id, write.row)
      }
      for (const id of rows.keys()) {
        if (rows.size <= MAX_ROWS) break
        rows.delete(id)
      }
    },
    forget: () => rows.clear(),
  }
}
