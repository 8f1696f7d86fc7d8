import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { copySqliteInUse } from './copy-in-use.ts'
import { openSqliteStore } from './sqlite.ts'

/** Writes entry after entry, says how many are stored, and begins the log anew every few megabytes as SQLite does. */
const WRITER = `
const { openSqliteStore } = await import(process.argv[1])
const store = openSqliteStore({ path: process.argv[2] })
for (let n = 1; ; n++) {
  const states = { fromState: null, toState: null, actor: 'gateway' }
  const details = { padding: 'x'.repeat(2000) }
  const audit = [{ at: n, challengeId: 'c-' + n, requestId: 'r', event: 'paid', ...states, details }]
  await store.commit({ puts: [], audit, durability: 'deferred' })
  if (n % 50 === 0) console.log(n)
  // As fast as a busy gateway, and not as fast as a disk without one.
  await new Promise((turn) => setTimeout(turn, 1))
}`

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paystile-copy-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('a copy that is made while another process writes holds everything stored before it, and no half of anything', async () => {
  const path = join(folder, 'paystile.db')
  const program = new URL('../../../dist/stores/sql/sqlite.js', import.meta.url).href
  const writer = spawn(process.execPath, ['--input-type=module', '-e', WRITER, program, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((done) => writer.once('exit', done))
  try {
    let stored = 0
    let copies = 0
    for await (const line of createInterface({ input: writer.stdout })) {
      stored = Number(line)
      if (stored % 250 !== 0) continue
      const copied = join(folder, `copy-${copies}.db`)
      copySqliteInUse(path, copied)
      const store = openSqliteStore({ path: copied })
      const entries = await store.log(0, 1_000_000)
      await store.close()
      expect(entries.length).toBeGreaterThanOrEqual(stored)
      expect(entries.every(({ challengeId }, index) => challengeId === `c-${index + 1}`)).toBe(true)
      await rm(copied)
      copies += 1
      if (copies === 12) break
    }
    expect(copies).toBe(12)
  } finally {
    writer.kill('SIGKILL')
    await ended
  }
}, 120_000)
