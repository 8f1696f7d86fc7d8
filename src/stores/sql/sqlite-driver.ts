import type { Dialect, Driver, Query, Result, Script } from './driver.ts'

/** What we use of `libsql`, which is what better-sqlite3 offers too. */
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
  /** As `transaction`, without giving way to anything else. */
  transactionNow<T>(script: () => Script<T>, how?: { soft?: boolean }): T
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
    // REPLACE deletes without asking the trigger above.
    `CREATE TRIGGER ${table}_refuses_replace BEFORE INSERT ON ${table}
      WHEN EXISTS (SELECT 1 FROM ${table} WHERE ${counterColumn} = NEW.${counterColumn})
      BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END`,
  ],
}

/** How what was committed comes to last. A later `flush` brings all earlier commits there too: they share one log. */
export interface Disk {
  flush(): void
  close(): void
}

const BEGIN: Query = { sql: 'BEGIN IMMEDIATE', params: [] }
const COMMIT: Query = { sql: 'COMMIT', params: [] }

const NO_DISK: Disk = { flush: () => {}, close: () => {} }

/** Runs each transaction in one go on one connection: no read can come in between and see half of it. */
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

  /** Throws as long as a failed transaction cannot be undone, for what it wrote would be seen as committed. */
  function rollBack(): void {
    if (database.inTransaction) database.exec('ROLLBACK')
  }

  function transactionNow<T>(script: () => Script<T>, { soft = false }: { soft?: boolean } = {}): T {
    rollBack()
    const value = committed(script)
    // Should this fail, the transaction stays, and may be lost with the power: its caller learns that nothing is known.
    if (!soft) disk.flush()
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
        // The first error says more, and whatever comes next tries again before it looks at anything.
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
    close: async () => {
      statements.clear()
      try {
        rollBack()
        disk.flush()
        disk.close()
        // The connection outlives close() until its statements are collected, and would keep the lock. Leaving WAL
        // checkpoints it into the one file and lets the lock go at the next read.
        database.exec('PRAGMA journal_mode = DELETE')
        database.exec('PRAGMA locking_mode = NORMAL')
        database.exec('SELECT count(*) FROM migrations')
      } finally {
        database.close()
      }
    },
  }
}
