import { closeSync, fstatSync, openSync, read, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { ConfigError } from '../../errors.ts'

const CHUNK_BYTES = 256 * 1024
/**
 * How many pages the log holds before they are copied into the database: 32 MB. SQLite's own 1000 are full after a few
 * groups, since a purchase changes pages all over the indexes; meanwhile the event loop waits for the disk, which took
 * half of the time of a purchase's steps.
 */
export const CHECKPOINT_PAGES = 8000
const readAt = promisify(read)

export interface Snapshots {
  /** The database file as it is now; whoever does not read to the end calls `return`. */
  take(): AsyncGenerator<Uint8Array>
  /** After the database itself is closed. */
  close(): void
}

/**
 * Copies of the database while it is in use. A checkpoint writes everything that is committed into the file, and until
 * the copy is complete there is no other: new commits go to the log alone, and the file stays as it is. The copy is
 * read in pieces by other threads, so that sales go on meanwhile.
 */
export function createSnapshots(path: string, database: { exec(sql: string): unknown }): Snapshots {
  // Closing any handle of this file would release the locks that this process has on it (POSIX), so there is one, and it is
  // closed last.
  let file: number | undefined
  let taking = false
  let closed = false

  function begin(): number {
    if (taking) throw new ConfigError([`${path} is being copied already; wait until that copy is complete.`])
    database.exec('PRAGMA wal_autocheckpoint = 0')
    taking = true
    try {
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      if (statSync(`${path}-wal`).size > 0) throw new Error(`${path}-wal could not be written back`)
      file ??= openSync(path, 'r')
      return file
    } catch (error) {
      end()
      throw error
    }
  }

  function end(): void {
    taking = false
    if (!closed) database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  }

  return {
    async *take() {
      const handle = begin()
      try {
        const { size } = fstatSync(handle)
        for (let at = 0; at < size; ) {
          const buffer = new Uint8Array(Math.min(CHUNK_BYTES, size - at))
          const { bytesRead } = await readAt(handle, buffer, 0, buffer.length, at)
          if (closed || bytesRead === 0) throw new Error(`${path} was closed before its copy was complete`)
          at += bytesRead
          yield buffer.subarray(0, bytesRead)
        }
      } finally {
        end()
      }
    },
    close() {
      closed = true
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}
