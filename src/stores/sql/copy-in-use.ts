import { closeSync, constants, copyFileSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { ConfigError } from '../../errors.ts'

const TRIES = 20
/** Of the write-ahead log's header, the two numbers that change whenever SQLite begins the log anew. */
const SALTS = { at: 16, bytes: 8 }

/**
 * Copies the embedded store's files while another process writes to them, so that the copy can be opened and read. The
 * file first, then the log: what a checkpoint moves into the file meanwhile is in the log as well, and a log wins over
 * the file. That holds unless the log was begun anew in between, which its header tells; then everything is copied again.
 */
export function copySqliteInUse(path: string, target: string): void {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const before = stateOf(path)
    copyFileSync(path, target, constants.COPYFILE_FICLONE)
    // SQLite ends the log at the first frame that is not whole.
    if (before.salts === '') rmSync(`${target}-wal`, { force: true })
    else if (!copyIfThere(`${path}-wal`, `${target}-wal`)) continue
    const after = stateOf(path)
    if (after.salts !== before.salts) continue
    // Without a log there is nothing that would win over a file that changed.
    if (before.salts !== '' || after.modified === before.modified) return
  }
  throw new ConfigError([
    `${path} changes too fast to be copied beside its gateway: serve its dashboard (paystileAdmin), and set ADMIN_URL and ADMIN_TOKEN to ask it.`,
  ])
}

function stateOf(path: string): { salts: string; modified: bigint } {
  return { salts: saltsOf(`${path}-wal`), modified: statSync(path, { bigint: true }).mtimeNs }
}

/** Empty: there is no log. */
function saltsOf(log: string): string {
  let file: number
  try {
    file = openSync(log, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
  try {
    const salts = Buffer.alloc(SALTS.bytes)
    return readSync(file, salts, 0, SALTS.bytes, SALTS.at) < SALTS.bytes ? '' : salts.toString('hex')
  } finally {
    closeSync(file)
  }
}

function copyIfThere(path: string, target: string): boolean {
  try {
    copyFileSync(path, target, constants.COPYFILE_FICLONE)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
