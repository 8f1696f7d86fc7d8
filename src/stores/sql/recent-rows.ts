import type { TableName } from '../../ports.ts'
import { rowId, type StoredRow, type Write } from '../prepare-step.ts'

const MAX_ROWS = 4096

/**
 * The rows that were written last, for a store that nobody else writes: a purchase reads what it has just written
 * several times over.
 */
export interface RecentRows {
  /** Undefined: not known here. */
  get(table: TableName, key: string): StoredRow | undefined
  /** In the order in which they were committed. */
  committed(writes: readonly Write[]): void
  /** Nobody knows what was stored. */
  forget(): void
}

export function createRecentRows(): RecentRows {
  const rows = new Map<string, StoredRow>()
  return {
    get: (table, key) => rows.get(rowId({ table, key })),
    committed(writes) {
      for (const write of writes) {
        const id = rowId(write)
        // Newest last, so that the oldest goes first.
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
