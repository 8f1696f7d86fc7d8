import { chmodSync, closeSync, existsSync, fdatasyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'libsql'
import { ConfigError } from '../../errors.ts'
import type { Store } from '../../ports.ts'
import { syncFolder } from '../../sync-folder.ts'
import { migrate } from './migrate.ts'
import { createSqlStore } from './sql-store.ts'
import { createSqliteDriver, type Disk } from './sqlite-driver.ts'

/** Long enough for the process before us to finish its shutdown. */
const LOCK_WAIT_MS = 1000

/**
 * Opens the embedded store, creating the file and its folder for this user alone. This process owns the file
 * until `close` or its own end, however sudden; throws ConfigError with one line if another one does.
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
      // Set by exec throughout: a prepared statement keeps the connection alive beyond close, until collected.
      database.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
      // A lock of the operating system, taken by the first use and kept: it dies with the process.
      database.exec('PRAGMA locking_mode = EXCLUSIVE')
      database.exec('PRAGMA journal_mode = WAL')
      // Flushed to the disk before a checkpoint only: for every commit that must last, the driver does it (see logOf).
      database.exec('PRAGMA synchronous = NORMAL')
      database.exec('PRAGMA fullfsync = ON')
      // Opens the log.
      database.exec('BEGIN IMMEDIATE; COMMIT')
      disk = logOf(path)
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
 * The write-ahead log, which is one file as long as the store is open. Flushed here and not by `synchronous = FULL`: that
 * flushes the file's times as well, which takes twice as long, and cannot be asked for by each commit on its own.
 */
function logOf(path: string): Disk {
  const log = openSync(`${path}-wal`, 'r+')
  // Else the file itself, which may be new, could be lost with the power.
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
      // Otherwise SQLite makes a file for readers to share.
      database.exec('PRAGMA locking_mode = EXCLUSIVE')
      // An error is the only answer of exec, and a prepared statement would keep the file locked beyond close.
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
 * SQLite gives its other files the mode of this one. An existing file is never opened here: closing it again
 * would drop the lock of a store that this process holds on it already (POSIX).
 */
function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    chmodSync(path, 0o600)
  }
}

function explain(path: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code?.startsWith('SQLITE_BUSY')
    ? `${path} is in use by another process; an embedded store serves one gateway at a time. Stop the other one, or use Postgres or Redis to run several.`
    : `${path} cannot be used as a store: ${message}`
}
