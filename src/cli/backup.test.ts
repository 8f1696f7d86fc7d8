import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cli } from '../../test/e2e/cli-terminal.ts'
import { readOrGenerateSecret } from '../delivery/generate-secret.ts'
import { haveSameId } from '../delivery/secret-keys.ts'
import { openSqliteStore } from '../stores/sql/sqlite.ts'

let folder: string
let dataDir: string
let env: Record<string, string>
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-backup-'))
  dataDir = join(folder, 'data')
  env = { DATA_DIR: dataDir, SVC_MANAGED_INFRA: 'none' }
  file = join(folder, 'store.backup')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const path = () => join(dataDir, 'paystile.db')
const entry = (n: number) => ({
  ...{ at: n, challengeId: `c-${n}`, requestId: `r-${n}`, event: 'created' as const },
  ...{ fromState: null, toState: 'PENDING' as const, actor: 'gateway' as const },
})

/** A store with so many entries in its log, closed, with its secret key. */
async function makeStore(entries: number): Promise<void> {
  const store = openSqliteStore({ path: path() })
  for (let n = 0; n < entries; n++) await store.commit({ puts: [], audit: [entry(n)] })
  await store.close()
  readOrGenerateSecret(dataDir)
}

/** A key that has the same key id as this one, or another. */
function findKey(older: string, same: boolean): string {
  for (let n = 0; ; n++) {
    const candidate = `${n}`.padStart(64, '0')
    if (haveSameId(older, candidate) === same) return candidate
  }
}

async function entriesIn(folderOfStore: string): Promise<number> {
  const store = openSqliteStore({ path: join(folderOfStore, 'paystile.db') })
  const { length } = await store.log(0, 10_000)
  await store.close()
  return length
}

test('a copy that is taken during writes is the store as it was when it began', async () => {
  const store = openSqliteStore({ path: path() })
  for (let n = 0; n < 2000; n++) void store.commit({ puts: [], audit: [entry(n)] })
  await store.commit({ puts: [], audit: [entry(2000)] })
  const pieces: Uint8Array[] = []
  let n = 2001
  for await (const piece of store.snapshot!()) {
    pieces.push(piece)
    // More than SQLite would write back by itself after a commit.
    for (let i = 0; i < 500; i++) void store.commit({ puts: [], audit: [entry(n++)] })
    await store.commit({ puts: [], audit: [entry(n++)] })
  }
  expect(pieces.length).toBeGreaterThan(1)
  const copy = join(folder, 'copy')
  const original = openSqliteStore({ path: join(copy, 'paystile.db') })
  await original.close()
  writeFileSync(join(copy, 'paystile.db'), Buffer.concat(pieces))
  expect(await entriesIn(copy)).toBe(2001)
  expect(await store.log(0, 10_000)).toHaveLength(n)
  // It can be taken again, also after one that was given up.
  const second = store.snapshot!()
  await second.next()
  await expect(store.snapshot!().next()).rejects.toThrow(/is being copied already/)
  await second.return(undefined)
  expect((await store.snapshot!().next()).done).toBe(false)
  await store.close()
})

test('a backup is restored into an empty folder with its key, and leaves nothing of itself in the store', async () => {
  await makeStore(3)
  const secret = readFileSync(join(dataDir, 'secret-key'), 'utf8')
  const made = await cli(env, 'backup', file)
  expect(made, made.errors).toMatchObject({ code: 0 })
  expect(made.output).not.toContain(secret.trim())
  expect(made.output).toContain('It holds secrets (secret-key) and is readable by you alone')
  const other = join(folder, 'other')
  const restored = await cli({ ...env, DATA_DIR: other }, 'restore', file)
  expect(restored, restored.errors).toMatchObject({ code: 0 })
  expect(readFileSync(join(other, 'secret-key'), 'utf8')).toBe(secret)
  expect(readFileSync(join(other, 'paystile.db')).includes(secret.trim())).toBe(false)
  expect(await entriesIn(other)).toBe(3)
})

test('a store is replaced only by --force, is kept, and keys are added to those that are there', async () => {
  await makeStore(2)
  await cli(env, 'backup', file)
  const older = readFileSync(join(dataDir, 'secret-key'), 'utf8').trim()
  rmSync(dataDir, { recursive: true })
  await makeStore(5)
  const newer = findKey(older, false)
  writeFileSync(join(dataDir, 'secret-key'), newer)
  const refused = await cli(env, 'restore', file)
  expect(refused.errors).toMatch(/paystile\.db exists; --force replaces it and keeps it/)
  expect(await entriesIn(dataDir)).toBe(5)
  const done = await cli(env, 'restore', file, '--force')
  expect(done, done.errors).toMatchObject({ code: 0 })
  expect(await entriesIn(dataDir)).toBe(2)
  expect(readFileSync(join(dataDir, 'secret-key'), 'utf8').trim()).toBe(`${newer},${older}`)
  const kept = readdirSync(dataDir).filter((name) => name.startsWith('paystile.db.before-restore'))
  expect(kept).toHaveLength(1)
  copyFileSync(join(dataDir, kept[0]!), path())
  expect(await entriesIn(dataDir)).toBe(5)
})

test('a key of the backup takes the place of one with the same key id, which is kept', async () => {
  await makeStore(2)
  await cli(env, 'backup', file)
  const older = readFileSync(join(dataDir, 'secret-key'), 'utf8').trim()
  const newer = findKey(older, true)
  writeFileSync(join(dataDir, 'secret-key'), `${newer}\n`)
  const done = await cli(env, 'restore', file, '--force')
  expect(done, done.errors).toMatchObject({ code: 0 })
  expect(readFileSync(join(dataDir, 'secret-key'), 'utf8').trim()).toBe(older)
  const kept = readdirSync(dataDir).find((name) => name.startsWith('secret-key.before-restore'))!
  expect(readFileSync(join(dataDir, kept), 'utf8').trim()).toBe(newer)
  expect(done.output).toContain(kept)
})

test('config.json stays unless it is asked for', async () => {
  await makeStore(1)
  const config = (name: string) => `${JSON.stringify({ version: 1, values: { AGENT_NAME: name } })}\n`
  writeFileSync(join(dataDir, 'config.json'), config('then'))
  await cli(env, 'backup', file)
  writeFileSync(join(dataDir, 'config.json'), config('now'))
  const stays = await cli(env, 'restore', file, '--force')
  expect(stays.output).toContain('config.json stays as it is; --with-config takes that of the backup.')
  expect(readFileSync(join(dataDir, 'config.json'), 'utf8')).toBe(config('now'))
  await cli(env, 'restore', file, '--force', '--with-config')
  expect(readFileSync(join(dataDir, 'config.json'), 'utf8')).toBe(config('then'))
})

test('what cannot be restored is refused in one line, and changes nothing', async () => {
  await makeStore(1)
  const made = await cli(env, 'backup', file)
  expect(made, made.errors).toMatchObject({ code: 0 })
  const changed = (name: string, sql: string): string => {
    const target = join(folder, name)
    copyFileSync(file, target)
    const database = new Database(target)
    database.exec(sql)
    database.close()
    return target
  }
  const text = join(folder, 'text')
  writeFileSync(text, 'sales,by,hand\n')
  const cut = join(folder, 'cut')
  writeFileSync(cut, readFileSync(file).subarray(0, 20_480))
  const foreign = join(folder, 'foreign')
  const database = new Database(foreign)
  database.exec('CREATE TABLE recipes (name TEXT)')
  database.close()
  const copied = join(folder, 'copied')
  copyFileSync(path(), copied)
  const cases: Array<[string, RegExp]> = [
    [join(folder, 'nothing'), /nothing is not there\./],
    [text, /text is no backup of paystile/],
    [foreign, /foreign is no backup of paystile/],
    [copied, /copied is a store and no backup; .*put it into DATA_DIR/],
    [cut, /cut is damaged/],
    [
      changed('format', `UPDATE backup_note SET format = 9, note = '{"version":"99.0.0"}'`),
      /format was made by paystile 99\.0\.0, .*run paystile 99\.0\.0 or newer/,
    ],
    [
      changed('newer', "INSERT INTO migrations VALUES (99, 'tomorrow', '98.0.0', 1)"),
      /newer was upgraded by a newer paystile .*run paystile 98\.0\.0 or newer/,
    ],
  ]
  for (const [given, message] of cases) {
    const refused = await cli(env, 'restore', given, '--force')
    expect(refused).toMatchObject({ code: 1, output: '' })
    expect(refused.errors).toMatch(message)
    expect(refused.errors.trim().split('\n')).toHaveLength(1)
  }
  expect(readdirSync(dataDir).sort()).toEqual(['paystile.db', 'secret-key'])
  expect(await entriesIn(dataDir)).toBe(1)
  const postgres = { ...env, DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c' }
  expect(existsSync(join(folder, 'never'))).toBe(false)
  expect(
    (await cli({ ...env, DATA_DIR: join(folder, 'typo') }, 'backup', join(folder, 'never'))).errors,
  ).toMatch(/set DATA_DIR to the folder of your server/)
  expect((await cli(postgres, 'backup', join(folder, 'never'))).errors).toMatch(/use its own backups/)
})
