import { stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { createPostgresDriver } from '../stores/sql/postgres-driver.ts'
import { parsePostgresUrl } from '../stores/sql/postgres-url.ts'
import type { Check, Finding } from './run-checks.ts'

/** Does Postgres keep committed data when the power fails? */
export function checkPostgresDurability(url: string, mainnet: boolean): Check {
  const name = 'DATABASE_URL'
  return {
    name,
    asks: 'Postgres, asked how it stores,',
    fix: 'Fix DATABASE_URL first.',
    silence: 'warn',
    async run(limitMs) {
      const limits = { statementTimeoutMs: limitMs, timeoutMs: limitMs, max: 1 }
      const driver = createPostgresDriver({ target: parsePostgresUrl(url), schema: 'paystile', ...limits })
      try {
        const names = "('fsync', 'full_page_writes', 'synchronous_commit')"
        const sql = `SELECT name, reset_val FROM pg_settings WHERE name IN ${names}`
        const { rows } = await driver.query({ sql, params: [] })
        const settings = new Map(rows.map((row) => [String(row.name), String(row.reset_val)]))
        const lossy = ['fsync', 'full_page_writes'].filter((setting) => settings.get(setting) === 'off')
        // The store turns synchronous_commit on for its own sessions.
        const weak = ['off', 'local'].includes(settings.get('synchronous_commit') ?? '')
        const own = weak ? ', with synchronous_commit on for itself' : ''
        if (lossy.length === 0)
          return [{ name, level: 'ok', message: `Postgres keeps what it confirms${own}` }]
        return lossy.map(
          (setting): Finding => ({
            name,
            level: mainnet ? 'error' : 'warn',
            message: `Postgres has ${setting} off: a power cut may forget who has paid`,
            fix: `Set ${setting} = on in postgresql.conf and reload it.`,
          }),
        )
      } finally {
        await driver.close()
      }
    },
  }
}

const FORGETFUL: Record<number, string> = {
  16914836: 'in memory (tmpfs)',
  2240043254: 'in memory (ramfs)',
  2035054128: "a container's own layer (overlay), which goes with the container",
}
const REMOTE: Record<number, string> = {
  26985: 'NFS',
  4283649346: 'SMB',
  4266872130: 'SMB',
}
const MIB = 1024 * 1024
const FEW_FREE_BYTES = 100 * MIB
/** With less the log of the store may not grow any more, and nothing can be sold. */
const LEAST_FREE_BYTES = 16 * MIB

/** Is the embedded store on a disk that is permanent, supports locks and has space? */
export function checkDisk(dataDir: string): Check {
  const name = 'DATA_DIR'
  return {
    name,
    asks: `the disk of ${dataDir}`,
    fix: `Make ${dataDir} a folder first.`,
    silence: 'warn',
    async run() {
      const { type, bavail, bsize } = await statfs(dataDir)
      const free = bavail * bsize
      const told: Finding[] = []
      const warn = (message: string, fix: string) => told.push({ name, level: 'warn', message, fix })
      const volume = 'Mount a volume there, on a local disk that outlives the container.'
      if (FORGETFUL[type]) warn(`${dataDir} is ${FORGETFUL[type]}: records of payments would be lost`, volume)
      if (REMOTE[type])
        warn(`${dataDir} is on ${REMOTE[type]}, where locks and syncs cannot be trusted`, volume)
      told.push(...checkSpace(dataDir, free))
      return told.length > 0 ? told : [{ name, level: 'ok', message: `${dataDir} is on a disk that stays` }]
    },
  }
}

/** `free`: in bytes. Nothing is charged while the store cannot write, and nothing is sold. */
export function checkSpace(dataDir: string, free: number): Finding[] {
  if (free >= FEW_FREE_BYTES) return []
  const level = free < LEAST_FREE_BYTES ? 'error' : 'warn'
  const message = `the disk of ${dataDir} has ${Math.floor(free / MIB)} MiB left`
  return [{ name: 'DATA_DIR', level, message, fix: 'Make room on it.' }]
}

const PRIVATE_FILES = ['config.json', 'secret-key', 'paystile.db', 'paystile.db-wal']

/** Can only the owner read keys and records? */
export function checkPrivacy(dataDir: string): Check {
  const name = 'DATA_DIR'
  return {
    name,
    asks: `the files in ${dataDir}`,
    fix: `Give this process the right to read ${dataDir}.`,
    async run() {
      if (process.platform === 'win32') return []
      const told: Finding[] = []
      for (const path of PRIVATE_FILES.map((file) => join(dataDir, file))) {
        const mode = await modeOf(path)
        if (mode === undefined || (mode & 0o077) === 0) continue
        const message = `${path} can be used by others (mode ${(mode & 0o777).toString(8).padStart(4, '0')})`
        told.push({ name, level: 'error', message, fix: `chmod 600 ${path}` })
      }
      return told.length > 0
        ? told
        : [{ name, level: 'ok', message: `only the owner can read secrets in ${dataDir}` }]
    },
  }
}

async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mode
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
