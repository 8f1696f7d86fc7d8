import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { configFilePath } from '../config/config-file.ts'
import { haveSameId, parseSecretKeys } from '../delivery/secret-keys.ts'
import { ConfigError } from '../errors.ts'
import { type BackupFiles, openBackup, refuseForeign, takeClosedStore } from '../stores/sql/backup-file.ts'
import { syncFolder } from '../sync-folder.ts'
import { embeddedFolder, keyIdsOf, SECRET_KEY_FILE } from './backup.ts'
import { load } from './load.ts'
import type { Line, Report, Terminal } from './terminal.ts'
import { startWaiting } from './waiting.ts'

export interface RestoreArgs {
  json: boolean
  file: string
  force: boolean
  withConfig: boolean
}

/**
 * Puts a backup into DATA_DIR. Everything is prepared and checked beside the store; then the store is replaced in one
 * rename. What it replaces is kept beside it. At whichever point it is stopped, the folder can be used.
 */
export async function restore(terminal: Terminal, args: RestoreArgs): Promise<Report> {
  const loaded = await load(terminal)
  const dataDir = embeddedFolder(loaded)
  const file = resolve(args.file)
  if (!existsSync(file)) throw new ConfigError([`${file} is not there.`])
  refuseForeign(file)
  const path = join(dataDir, 'paystile.db')
  const draft = `${path}.restoring-${process.pid}`
  const stamp = new Date().toISOString().replace(/[:.]/g, '-')
  const replaces = existsSync(path)
  const held = replaces ? takeStore(path, args.force) : undefined
  const waiting = await startWaiting(terminal, args.json, 'Restoring')
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    copyFileSync(file, draft)
    chmodSync(draft, 0o600)
    const { note, files } = openBackup(draft, file)
    flush(draft)
    const kept = [
      ...placeSecretKey(dataDir, files, stamp),
      ...placeConfig(dataDir, files, args.withConfig, stamp),
      ...(replaces ? keepStore(path, stamp) : []),
    ]
    renameSync(draft, path)
    syncFolder(dataDir)
    const after = await load(terminal)
    const known = keyIdsOf(after, dataDir)
    const missing = note.keyIds.filter((id) => !known.includes(id))
    const configKept =
      !args.withConfig &&
      files['config.json'] !== undefined &&
      !isAs(configFilePath(dataDir), files['config.json'])
    const lines: Line[] = [
      `${dataDir} holds the records of ${note.at} again (paystile ${note.version}).`,
      ...kept.map((name) => `What it replaced is kept in ${name}.`),
      ...(configKept ? ['config.json stays as it is; --with-config takes that of the backup.'] : []),
      ...(missing.length > 0
        ? [
            {
              level: 'warn' as const,
              text: 'The key that sealed its results is not here: set SVC_SECRET_KEY to what it was then, or restore a backup with secrets.',
            },
          ]
        : []),
      'Next: start the server, then paystile reconcile: sales since the backup are on the chain and not in these records.',
    ]
    return { lines, json: { ok: true, dataDir, ...note, kept, configKept, missingKeys: missing } }
  } finally {
    waiting.end()
    held?.release()
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(`${draft}${end}`, { force: true })
  }
}

/** Locks the store that will be replaced. One that is damaged cannot be opened by a server either, and may be replaced. */
function takeStore(path: string, force: boolean): { release(): void } | undefined {
  let held: { release(): void } | undefined
  try {
    held = takeClosedStore(path)
  } catch (error) {
    if (!(error instanceof ConfigError) || /in use by another/.test(error.message)) {
      throw new ConfigError([`${path} is in use: stop the server first.`])
    }
  }
  if (force) return held
  held?.release()
  throw new ConfigError([`${path} exists; --force replaces it and keeps it beside the restored one.`])
}

/** The log of a store that could not be opened goes first: beside another store, SQLite would apply it to that one. */
function keepStore(path: string, stamp: string): string[] {
  const kept = `${path}.before-restore-${stamp}`
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${kept}-wal`)
  linkSync(path, kept)
  return [kept]
}

/**
 * Keys are added: what was sealed or signed since the backup stays readable, and so does what is in it. One pair in 256 has the
 * same key id and cannot be used together; then the key of the backup takes the other's place, which is kept beside it.
 */
function placeSecretKey(dataDir: string, files: BackupFiles, stamp: string): string[] {
  const path = join(dataDir, SECRET_KEY_FILE)
  const restored = files[SECRET_KEY_FILE]
  if (restored === undefined) return []
  const present = existsSync(path) ? keysIn(readFileSync(path, 'utf8')) : []
  const added = keysIn(restored).filter((key) => !present.includes(key))
  if (added.length === 0) return []
  const stay = present.filter((key) => !added.some((other) => haveSameId(key, other)))
  const list = [...stay, ...added].join(',')
  parseSecretKeys(list, path)
  const kept = stay.length < present.length ? [`${path}.before-restore-${stamp}`] : []
  for (const name of kept) linkSync(path, name)
  replace(path, `${list}\n`)
  return kept
}

const keysIn = (list: string): string[] =>
  list
    .trim()
    .split(',')
    .map((key) => key.trim())

function placeConfig(dataDir: string, files: BackupFiles, withConfig: boolean, stamp: string): string[] {
  const kept: string[] = []
  for (const name of ['config.json', 'managed-infra']) {
    const path = join(dataDir, name)
    const restored = files[name]
    if (restored === undefined || isAs(path, restored) || (existsSync(path) && !withConfig)) continue
    if (existsSync(path)) {
      linkSync(path, `${path}.before-restore-${stamp}`)
      kept.push(`${path}.before-restore-${stamp}`)
    }
    replace(path, restored)
  }
  return kept
}

const isAs = (path: string, content: string): boolean =>
  existsSync(path) && readFileSync(path, 'utf8') === content

function replace(path: string, content: string): void {
  const draft = `${path}.restoring-${process.pid}`
  writeFileSync(draft, content, { mode: 0o600 })
  flush(draft)
  renameSync(draft, path)
}

function flush(path: string): void {
  const handle = openSync(path, 'r+')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
