import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { parseSecretKeys } from '../delivery/secret-keys.ts'
import { ConfigError } from '../errors.ts'
import type { Loaded } from '../server/load-configuration.ts'
import { makeBackup, takeClosedStore } from '../stores/sql/backup-file.ts'
import { syncFolder } from '../sync-folder.ts'
import { VERSION } from '../version.ts'
import { load } from './load.ts'
import { openBackstage } from './open-backstage.ts'
import type { Report, Terminal } from './terminal.ts'
import { startWaiting } from './waiting.ts'

/** Files of the data folder that a server needs besides its store. */
export const SECRET_KEY_FILE = 'secret-key'
const BESIDE_THE_STORE = [SECRET_KEY_FILE, 'config.json', 'managed-infra']

export interface BackupArgs {
  json: boolean
  file: string
  withoutSecrets: boolean
}

/** Writes the embedded store and what belongs to it into one file, while the server sells or while none runs. */
export async function backUp(
  terminal: Terminal,
  { json, file, withoutSecrets }: BackupArgs,
): Promise<Report> {
  const loaded = await load(terminal)
  const dataDir = embeddedFolder(loaded)
  const path = resolve(file)
  refuseTarget(path, dataDir)
  const draft = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`
  const waiting = await startWaiting(terminal, json, 'Copying the store')
  try {
    const via = await copyInto(draft, loaded, dataDir)
    const files = withoutSecrets ? {} : readFiles(dataDir)
    const keyIds = keyIdsOf(loaded, dataDir)
    makeBackup(draft, { at: new Date().toISOString(), version: VERSION, keyIds }, files)
    place(draft, path)
    const { size } = statSync(path)
    const secret = Object.keys(files)
    const given = Boolean(loaded.configuration.options.secretKey) && !savesSecretKey(files)
    const lines = [
      `${path}: ${(size / 1e6).toFixed(1)} MB, ${via === 'server' ? 'of the running server' : 'of a store that no server uses'}.`,
      secret.length > 0
        ? `It holds secrets (${secret.join(', ')}) and is readable by you alone: keep it as safe as your keys.`
        : 'It holds no keys: without secret-key, what buyers bought cannot be opened after a restore.',
      ...(given
        ? ['SVC_SECRET_KEY comes from the environment and is not in it: keep it, but elsewhere.']
        : []),
    ]
    return {
      lines,
      json: { ok: true, via, file: path, bytes: size, files: secret, secrets: secret.length > 0 },
    }
  } finally {
    waiting.end()
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(`${draft}${end}`, { force: true })
  }
}

/** The folder of the embedded store; throws if records are elsewhere. */
export function embeddedFolder({ configuration, dataDir }: Loaded): string {
  // A configuration that lacks something else still says where records are.
  const { databaseUrl, redisUrl } = configuration.options
  const stated = databaseUrl ? 'postgres' : redisUrl ? 'redis' : 'embedded'
  const kind = configuration.config?.store.kind ?? stated
  if (kind === 'embedded') return dataDir
  throw new ConfigError([
    `Records are in ${kind === 'postgres' ? 'Postgres (DATABASE_URL)' : kind}, not in DATA_DIR: use its own backups (pg_dump -n paystile, or a copy of appendonlydir).`,
  ])
}

function refuseTarget(path: string, dataDir: string): void {
  if (!existsSync(join(dataDir, 'paystile.db'))) {
    throw new ConfigError([
      `${join(dataDir, 'paystile.db')} is not there: set DATA_DIR to the folder of your server, or start it once first.`,
    ])
  }
  if (existsSync(path)) throw new ConfigError([`${path} exists; give a name that is not taken.`])
  if (!existsSync(dirname(path))) throw new ConfigError([`${dirname(path)} is not there; create it first.`])
}

/** A running server copies its own store, because nobody else can open it. */
async function copyInto(draft: string, loaded: Loaded, dataDir: string): Promise<'server' | 'store'> {
  const path = join(dataDir, 'paystile.db')
  let taken: { release(): void } | undefined
  try {
    taken = takeClosedStore(path)
  } catch (error) {
    if (!(error instanceof ConfigError) || !/in use by another/.test(error.message)) throw error
  }
  if (taken) {
    try {
      copyFileSync(path, draft)
      chmodSync(draft, 0o600)
      return 'store'
    } finally {
      taken.release()
    }
  }
  const backstage = await openBackstage(loaded, 'look')
  try {
    const answer = await backstage.ask('/backup')
    const target = await open(draft, 'wx', 0o600)
    try {
      for await (const piece of answer.body as unknown as AsyncIterable<Uint8Array>)
        await target.appendFile(piece)
    } finally {
      await target.close()
    }
    return 'server'
  } finally {
    await backstage.close()
  }
}

function readFiles(dataDir: string): Record<string, string> {
  const present = BESIDE_THE_STORE.filter((name) => existsSync(join(dataDir, name)))
  return Object.fromEntries(present.map((name) => [name, readFileSync(join(dataDir, name), 'utf8')]))
}

const savesSecretKey = (files: Record<string, string>): boolean =>
  files['config.json']?.includes('"SVC_SECRET_KEY"') === true

/** The ids of the keys that a server with this configuration opens results with. */
export function keyIdsOf({ configuration }: Loaded, dataDir: string): string[] {
  const { secretKey } = configuration.options
  const file = join(dataDir, SECRET_KEY_FILE)
  if (secretKey) return idsIn(secretKey)
  return existsSync(file) ? idsIn(readFileSync(file, 'utf8').trim()) : []
}

const idsIn = (list: string): string[] => parseSecretKeys(list, SECRET_KEY_FILE).sealing.map(({ id }) => id)

/** The file appears complete or not at all, and replaces none. */
function place(draft: string, path: string): void {
  try {
    linkSync(draft, path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Some network drives have no links. There, a file that came by this name meanwhile would be replaced.
    if (code === 'EEXIST' || existsSync(path)) {
      throw new ConfigError([`${path} exists; give a name that is not taken.`])
    }
    renameSync(draft, path)
  }
  syncFolder(dirname(path))
}
