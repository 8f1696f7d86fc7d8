import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Database from 'libsql'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { UnavailableError } from '../../errors.ts'
import { sampleAudit, samplePut } from '../../testing/store-rows.ts'
import { openSqliteStore } from './sqlite.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-sqlite-'))
  path = join(folder, 'data', 'paystile.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

const put = (key: string) => samplePut('requests', { key })

describe('one process owns the file', () => {
  test('another process is refused with one line until the owner closes the store', async () => {
    const store = openSqliteStore({ path })
    await store.commit({ puts: [put('a')] })
    const refusal = await runChild(openOnce)
    expect(refusal).toMatch(
      /^ConfigError: \S+paystile\.db is in use by another process, or by a gateway of this one that was not closed; .*$/,
    )
    expect(refusal).toContain(path)
    await store.close()
    expect(await runChild(openOnce)).toBe('opened')
  })

  test('a second open in the same process is refused and does not affect the first', async () => {
    const store = openSqliteStore({ path })
    expect(() => openSqliteStore({ path })).toThrow(
      expect.objectContaining({ name: 'ConfigError', message: expect.stringContaining(`${path} is in use`) }),
    )
    expect(await runChild(openOnce)).toContain('is in use')
    expect(await store.commit({ puts: [put('a')] })).toEqual({ kind: 'applied' })
    await store.close()
  })

  test('garbage collection of a closed store does not affect the lock or the data of the next one', async () => {
    const first = openSqliteStore({ path })
    await first.commit({ puts: [put('a')] })
    await first.close()
    const second = openSqliteStore({ path })
    await second.commit({ puts: [put('b')] })
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')()
    expect(await runChild(openOnce)).toContain('is in use')
    expect((await second.get('requests', ['a', 'b'])).map((row) => row?.key)).toEqual(['a', 'b'])
    await second.close()
  })

  test('kill -9 leaves no lock behind and loses no committed step', async () => {
    const child = startChild(commitForever)
    const answered: string[] = []
    for await (const line of createInterface({ input: child.stdout! })) {
      answered.push(line)
      if (answered.length === 100) child.kill('SIGKILL')
    }
    const store = openSqliteStore({ path })
    const rows = await store.get('requests', answered)
    expect(rows.filter((row) => row === undefined)).toEqual([])
    expect(rows.length).toBeGreaterThanOrEqual(100)
    for (const key of answered) expect(await store.audit(key)).toHaveLength(1)
    await store.close()
  })
})

describe('the file', () => {
  const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8)

  test('and its folder are accessible to this user only', async () => {
    const store = openSqliteStore({ path })
    await store.commit({ puts: [put('a')] })
    expect([join(folder, 'data'), path, `${path}-wal`].map(modeOf)).toEqual(['700', '600', '600'])
    await store.close()
    chmodSync(path, 0o644)
    const again = openSqliteStore({ path })
    expect(modeOf(path)).toBe('600')
    await again.close()
  })

  test('that is not a database, or cannot be reached, is refused with one line', () => {
    const text = join(folder, 'notes.txt')
    writeFileSync(text, 'not a database, though long enough to have a header\n'.repeat(99))
    expect(() => openSqliteStore({ path: text })).toThrow(
      `${text} cannot be used as a store: file is not a database`,
    )
    expect(() => openSqliteStore({ path: join(text, 'x.db') })).toThrow(
      'x.db cannot be used as a store: EEXIST',
    )
  })

  test('contains the whole store after close', async () => {
    const store = openSqliteStore({ path })
    await store.commit({ puts: [put('a')] })
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0)
    await store.close()
    expect(() => statSync(`${path}-wal`)).toThrow('ENOENT')
  })
})

test('close finishes queued steps, and then every call is refused', async () => {
  const store = openSqliteStore({ path })
  const queued = [store.commit({ puts: [put('a')] }), store.commit({ puts: [put('a')] })]
  await Promise.all([store.close(), store.close()])
  expect((await Promise.all(queued)).map((result) => result.kind)).toEqual(['applied', 'conflict'])
  await expect(store.commit({ puts: [put('b')] })).rejects.toThrow(UnavailableError)
  await expect(store.get('requests', ['a'])).rejects.toThrow(UnavailableError)
  await expect(store.takeDue('requests', 1, 2, 1)).rejects.toThrow(UnavailableError)
  await expect(store.ping()).rejects.toThrow('the sqlite store is unavailable')
})

test('the audit log refuses UPDATE, DELETE and REPLACE', async () => {
  const store = openSqliteStore({ path })
  await store.commit({ puts: [], audit: [sampleAudit('x', 'opened')] })
  await store.close()
  const database = new Database(path)
  const tamper = [
    "UPDATE audit SET event = 'forged'",
    'DELETE FROM audit',
    "REPLACE INTO audit (seq, at, challenge_id, request_id, event, actor) VALUES (1, 0, 'x', 'r', 'forged', 'buyer')",
    "INSERT INTO audit (seq, at, challenge_id, request_id, event, actor) VALUES (1, 0, 'x', 'r', 'forged', 'buyer')",
  ]
  for (const sql of tamper) expect(() => database.exec(sql), sql).toThrow('audit is append-only')
  database.close()
})

const openOnce = `
  try { await openSqliteStore({ path }).close(); console.log('opened') } catch (error) { console.log(String(error)) }`

const commitForever = `
  const store = openSqliteStore({ path })
  for (let n = 0; ; n++) {
    const keys = [n + 'a', n + 'b', n + 'c']
    await Promise.all(keys.map(async (key) => {
      const row = { key, version: 0, ref: null, dueAt: null, challengeId: 'c' }
      const audit = { at: 0, challengeId: key, requestId: 'r', event: 'e', fromState: null, toState: null, actor: 'buyer' }
      await store.commit({ puts: [{ table: 'requests', row }], audit: [audit] })
      process.stdout.write(key + '\\n')
    }))
  }`

/** Runs code that imports the built store: `npm test` builds before it tests. */
function startChild(code: string): ChildProcess {
  const built = new URL('../../../dist/stores/sql/sqlite.js', import.meta.url)
  const source = `import { openSqliteStore } from '${built}'; const path = ${JSON.stringify(path)}; ${code}`
  return spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function runChild(code: string): Promise<string> {
  const lines: string[] = []
  for await (const line of createInterface({ input: startChild(code).stdout! })) lines.push(line)
  return lines.join('\n')
}
