import { chmodSync, closeSync, existsSync, fdatasyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'libsql'
import { ConfigError } from '../../errors.ts'
import type { Store } from '../../ports.ts'
import { syncFolder } from '../../sync-folder.ts'
import { migrate } from './migrate.ts'
import { createSqlStore } from './sql-store.ts'
import { createSqliteDriver, type Disk } from './sqlite-driver.ts'
import { CHECKPOINT_PAGES, createSnapshots } from './sqlite-snapshot.ts'

/** Enough for the inner pages of the indexes of a few million sales; a small store uses as much as it has. */
const CACHE_KIB = 32 * 1024
/** Long enough for a previous process to finish its shutdown. */
const LOCK_WAIT_MS = 1000

/**
 * Opens the embedded store; creates the file and its folder for this user only. This process owns the file until `close` or
 * until it ends in any way. Throws ConfigError with one line if another process owns it.
 *
 * @example
 * const store = openSqliteStore({ path: './data/paystile.db' })
 */
export function openSqliteStore({ path }: { path: string }): Store {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    createPrivateFile(path)
    const database = new Database(path)
    let disk: Disk | undefined
    try {
      // Always set with exec: a prepared statement would keep the connection alive after close, until it is garbage-collected.
      database.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
      // A lock of the operating system, taken at the first use and kept; it ends with the process.
      database.exec('PRAGMA locking_mode = EXCLUSIVE')
      database.exec('PRAGMA journal_mode = WAL')
      // SQLite flushes only before a checkpoint; for every durable commit the driver flushes the log itself (see logOf).
      database.exec('PRAGMA synchronous = NORMAL')
      database.exec('PRAGMA fullfsync = ON')
      database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
      database.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
      // Opens the log.
      database.exec('BEGIN IMMEDIATE; COMMIT')
      disk = { ...logOf(path), snapshots: createSnapshots(path, database) }
      const driver = createSqliteDriver(database, disk)
      driver.transactionNow(() => migrate(path, driver.dialect))
      return createSqlStore(driver)
    } catch (error) {
      disk?.close()
      database.close()
      throw error
    }
  } catch (error) {
    throw error instanceof ConfigError ? error : new ConfigError([explain(path, error)])
  }
}

/**
 * The write-ahead log, which is one file while the store is open. Flushed here and not with `synchronous = FULL`, which also
 * flushes the file's times and so takes twice as long, and which cannot be chosen per commit.
 */
function logOf(path: string): Disk {
  const log = openSync(`${path}-wal`, 'r+')
  // Otherwise a new file could be lost in a power failure.
  syncFolder(dirname(path))
  return { flush: () => fdatasyncSync(log), close: () => closeSync(log) }
}

/** See holdsRecords. */
export function sqliteHoldsRecords(path: string): boolean {
  if (!existsSync(path)) return false
  try {
    const database = new Database(path, { readonly: true })
    try {
      database.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
      // Otherwise SQLite creates a shared-memory file.
      database.exec('PRAGMA locking_mode = EXCLUSIVE')
      // exec can answer only with an error; a prepared statement would keep the file locked after close.
      database.exec('SELECT CASE WHEN EXISTS (SELECT 1 FROM audit) THEN abs(-9223372036854775808) END')
      return false
    } finally {
      database.close()
    }
  } catch (error) {
    const { message } = error as Error
    if (message.includes('integer overflow')) return true
    if (message.includes('no such table')) return false
    throw new ConfigError([explain(path, error)])
  }
}

/**
 * SQLite gives its other files the mode of this one. An existing file is not opened here: closing it would release a lock that
 * this process already holds on it (POSIX).
 */
function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    chmodSync(path, 0o600)
  }
}

export function explain(path: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code?.startsWith('SQLITE_BUSY')
    ? `${path} is in use by another process, or by a gateway of this one that was not closed; an embedded store serves one gateway at a time. Stop or close the other one, or use Postgres or Redis to run several.`
    : `${path} cannot be used as a store: ${message}`
}
