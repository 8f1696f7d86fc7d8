import { isDiskFull } from '../../reason-of.ts'
import type { Dialect, Driver, Query, Result, Script } from './driver.ts'
import type { Snapshots } from './sqlite-snapshot.ts'

/** The part of `libsql` that we use; better-sqlite3 has the same interface. */
export interface SqliteDatabase {
  readonly inTransaction: boolean
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}

interface SqliteStatement {
  readonly reader: boolean
  all(params: unknown[]): unknown[]
  get(params: unknown[]): unknown
  run(params: unknown[]): { changes: number }
}

export interface SqliteDriver extends Driver {
  /** Like `transaction`, but synchronous. */
  transactionNow<T>(script: () => Script<T>, how?: { deferred?: boolean }): T
}

const sqlite: Dialect = {
  inKeys: 'IN (SELECT value FROM json_each(?))',
  forUpdate: '',
  skipLocked: '',
  text: 'TEXT',
  counter: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  appendOnly: (table, counterColumn) => [
    `CREATE TRIGGER ${table}_refuses_update BEFORE UPDATE ON ${table} BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END`,
    `CREATE TRIGGER ${table}_refuses_delete BEFORE DELETE ON ${table} BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END`,
    // REPLACE deletes rows without running the trigger above.
    `CREATE TRIGGER ${table}_refuses_replace BEFORE INSERT ON ${table}
      WHEN EXISTS (SELECT 1 FROM ${table} WHERE ${counterColumn} = NEW.${counterColumn})
      BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END`,
  ],
}

/** Makes commits durable. A `flush` includes all earlier commits, since they share one log. */
export interface Disk {
  flush(): void
  close(): void
  snapshots?: Snapshots
}

const BEGIN: Query = { sql: 'BEGIN IMMEDIATE', params: [] }
const COMMIT: Query = { sql: 'COMMIT', params: [] }

// An UPDATE to the same values would not reach the disk; nobody reads this number.
const TRY_WRITE = 'BEGIN IMMEDIATE; PRAGMA user_version = 0; COMMIT'

const NO_DISK: Disk = { flush: () => {}, close: () => {} }

function faultOf(cause: unknown): string | undefined {
  const { code } = cause as NodeJS.ErrnoException
  if (isDiskFull(cause)) return 'its disk is full'
  if (code === 'EROFS' || code?.startsWith('SQLITE_READONLY')) return 'its file cannot be written'
  if (code === 'EIO' || code?.startsWith('SQLITE_IOERR')) return 'its disk failed'
  return undefined
}

/** Runs each transaction synchronously on one connection, so that no read can see half of it. */
export function createSqliteDriver(database: SqliteDatabase, disk: Disk = NO_DISK): SqliteDriver {
  const statements = new Map<string, (params: unknown[]) => Result>()

  function run({ sql, params, single }: Query): Result {
    let execute = statements.get(sql)
    if (execute === undefined) {
      const statement = database.prepare(sql)
      const rows = single
        ? (given: unknown[]) => [statement.get(given)].filter((row) => row !== undefined)
        : (given: unknown[]) => statement.all(given)
      execute = statement.reader
        ? (given) => ({ rows: rows(given) as Result['rows'], changes: 0 })
        : (given) => ({ rows: [], changes: statement.run(given).changes })
      statements.set(sql, execute)
    }
    return execute(params)
  }

  /** Throws as long as a failed transaction cannot be rolled back: its writes would look committed. */
  function rollBack(): void {
    if (database.inTransaction) database.exec('ROLLBACK')
  }

  function transactionNow<T>(script: () => Script<T>, { deferred = false }: { deferred?: boolean } = {}): T {
    rollBack()
    const value = committed(script)
    // If this fails, the transaction is committed but may be lost in a power failure: the caller learns that the outcome is unknown.
    if (!deferred) disk.flush()
    return value
  }

  function committed<T>(script: () => Script<T>): T {
    run(BEGIN)
    try {
      const steps = script()
      let turn = steps.next()
      while (!turn.done) turn = steps.next(turn.value.map(run))
      run(COMMIT)
      return turn.value
    } catch (error) {
      try {
        rollBack()
      } catch {
        // The first error is more useful; the next call tries to roll back again before it does anything.
      }
      throw error
    }
  }

  return {
    name: 'sqlite',
    exclusive: true,
    dialect: sqlite,
    query: async (query) => {
      rollBack()
      return run(query)
    },
    transaction: async (script, how) => transactionNow(script, how),
    transactionNow,
    tryWrite: async () => {
      rollBack()
      try {
        database.exec(TRY_WRITE)
      } finally {
        rollBack()
      }
      disk.flush()
    },
    faultOf,
    ...(disk.snapshots && {
      async *snapshot() {
        rollBack()
        yield* disk.snapshots!.take()
      },
    }),
    close: async () => {
      statements.clear()
      try {
        rollBack()
        disk.flush()
        disk.close()
        // The connection lives on after close() until its statements are garbage-collected, and would keep the lock. Leaving WAL
        // mode checkpoints the log into the database file and releases the lock at the next read.
        database.exec('PRAGMA journal_mode = DELETE')
        database.exec('PRAGMA locking_mode = NORMAL')
        database.exec('SELECT count(*) FROM migrations')
      } finally {
        database.close()
        disk.snapshots?.close()
      }
    },
  }
}
