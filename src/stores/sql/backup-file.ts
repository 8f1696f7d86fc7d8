import { closeSync, openSync, readSync } from 'node:fs'
import Database from 'libsql'
import { ConfigError } from '../../errors.ts'
import { refuseNewer } from './migrate.ts'
import { explain } from './sqlite.ts'

/** The form of the two tables that make a copy of the store a backup. */
const FORMAT = 1
const HEADER = 'SQLite format 3\0'
const LOCK_WAIT_MS = 1000

/** What a backup says of itself. */
export interface BackupNote {
  at: string
  /** The version of paystile that made it. */
  version: string
  /** Ids of the secret keys that open its sealed results. They say nothing about the keys. */
  keyIds: string[]
}

/** Files of the data folder, by name. */
export type BackupFiles = Readonly<Record<string, string>>

/**
 * Takes a store that nobody uses, and brings its log into its file, so that the file is all there is of it. Nobody else can
 * open it until `release`. Throws ConfigError with one line if another process has it open.
 */
export function takeClosedStore(path: string): { release(): void } {
  let database: Database.Database | undefined
  try {
    database = new Database(path)
    database.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
    database.exec('PRAGMA journal_mode = DELETE')
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    throw new ConfigError([explain(path, error)])
  }
  const held = database
  return {
    release() {
      held.exec('ROLLBACK')
      held.close()
    },
  }
}

/** Makes a backup of a copied store: its integrity is checked, and the note and files are stored in it. */
export function makeBackup(path: string, note: BackupNote, files: BackupFiles): void {
  const database = open(path)
  try {
    checkIntegrity(database, path)
    database.exec('BEGIN')
    database.exec('CREATE TABLE backup_note (format BIGINT NOT NULL, note TEXT NOT NULL)')
    database.exec('CREATE TABLE backup_files (name TEXT PRIMARY KEY NOT NULL, content TEXT NOT NULL)')
    database.prepare('INSERT INTO backup_note VALUES (?, ?)').run([FORMAT, JSON.stringify(note)])
    const insert = database.prepare('INSERT INTO backup_files VALUES (?, ?)')
    for (const [name, content] of Object.entries(files)) insert.run([name, content])
    database.exec('COMMIT')
  } finally {
    database.close()
  }
}

/** Refuses what is certainly no backup before it is copied. */
export function refuseForeign(path: string): void {
  const start = Buffer.alloc(HEADER.length)
  const handle = openSync(path, 'r')
  try {
    readSync(handle, start, 0, start.length, 0)
  } finally {
    closeSync(handle)
  }
  if (start.toString('latin1') !== HEADER) {
    throw new ConfigError([`${path} is no backup of paystile; give a file that paystile backup has written.`])
  }
}

/**
 * Turns a copy of a backup into a store again, and returns what else was in it. `name` is how messages call it. Throws
 * ConfigError with one line if it is no backup, comes from a newer version or is damaged; the copy is useless then.
 */
export function openBackup(path: string, name: string): { note: BackupNote; files: BackupFiles } {
  const database = open(path, name)
  const all = (sql: string) => database.prepare(sql).all([]) as Array<Record<string, unknown>>
  try {
    const names = all("SELECT name FROM sqlite_master WHERE type = 'table'").map((row) => row.name)
    if (!names.includes('backup_note')) {
      const isStore = names.includes('migrations') && names.includes('audit')
      throw new ConfigError([
        isStore
          ? `${name} is a store and no backup; with the server stopped, put it into DATA_DIR as paystile.db.`
          : `${name} is no backup of paystile; give a file that paystile backup has written.`,
      ])
    }
    const [told] = all('SELECT format, note FROM backup_note')
    const note = JSON.parse(String(told?.note ?? '{}')) as BackupNote
    if (Number(told?.format) !== FORMAT) {
      throw new ConfigError([
        `${name} was made by paystile ${note.version}, whose backups this version cannot read; run paystile ${note.version} or newer.`,
      ])
    }
    refuseNewer(name, all('SELECT id, name, since, breaking FROM migrations ORDER BY id'))
    checkIntegrity(database, name)
    const files = all('SELECT name, content FROM backup_files').map((row) => [
      String(row.name),
      String(row.content),
    ])
    database.exec('BEGIN; DROP TABLE backup_note; DROP TABLE backup_files; COMMIT')
    return { note, files: Object.fromEntries(files) as Record<string, string> }
  } catch (error) {
    throw error instanceof ConfigError ? error : new ConfigError([damaged(name, error)])
  } finally {
    database.close()
  }
}

function open(path: string, name = path): Database.Database {
  try {
    const database = new Database(path)
    // One file, without a log beside it. Deleted pages are overwritten: a restored store must not keep the files of its backup.
    database.exec('PRAGMA journal_mode = DELETE')
    database.exec('PRAGMA secure_delete = ON')
    database.exec('PRAGMA synchronous = FULL')
    return database
  } catch (error) {
    throw new ConfigError([damaged(name, error)])
  }
}

function checkIntegrity(database: Database.Database, name: string): void {
  const [first] = database.prepare('PRAGMA integrity_check').all([]) as Array<{ integrity_check: string }>
  if (first?.integrity_check !== 'ok') throw new ConfigError([damaged(name, first?.integrity_check)])
}

function damaged(name: string, cause: unknown): string {
  const why = cause instanceof Error ? cause.message : String(cause)
  return `${name} is damaged (${why.split('\n').at(-1)!.trim()}); use another backup.`
}
