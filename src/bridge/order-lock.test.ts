import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lock, tryLock } from './order-lock.ts'

let folder: string
const file = () => join(folder, 'order')
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('one at a time, in this process too; whoever waits gets it afterwards', async () => {
  const unlock = tryLock(file())!
  expect(tryLock(file())).toBeUndefined()
  expect(await lock(file(), 0)).toBeUndefined()
  const waiting = lock(file(), 60_000)
  unlock()
  expect(await waiting).toBeDefined()
})

test('what a dead process left is taken over, also if its number is ours now; a live one keeps it', () => {
  writeFileSync(file(), String(process.ppid))
  expect(tryLock(file())).toBeUndefined()
  const longAgo = new Date(Date.now() - 3_600_000)
  utimesSync(file(), longAgo, longAgo)
  tryLock(file())!()
  // No process has a number as high as this.
  for (const pid of [4_194_305, process.pid]) {
    writeFileSync(file(), String(pid))
    tryLock(file())!()
  }
})
