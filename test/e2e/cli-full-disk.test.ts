import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { readConfigFile, writeConfigFile } from '../../src/config/config-file.ts'
import { openSqliteStore } from '../../src/stores/sql/sqlite.ts'
import { cliOnFullDisk } from './cli-terminal.ts'

let folder: string
let dataDir: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paystile-full-'))
  dataDir = join(folder, 'data')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** A dashboard that answers whatever it is asked with these bytes. */
async function answering(body: string): Promise<Record<string, string>> {
  const session = JSON.stringify({ loggedIn: false, version: '1' })
  const server = createServer(({ url }, response) => {
    response.end(url === '/admin/api/session' ? session : body)
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return {
    SVC_MANAGED_INFRA: 'none',
    ADMIN_URL: `http://127.0.0.1:${port}/admin`,
    ADMIN_TOKEN: 'the-token-of-the-operator',
    DATA_DIR: dataDir,
  }
}

test('a configuration that does not fit on the disk leaves the one that was there', async () => {
  const PLANS = Array.from({ length: 300 }, (_, number) => ({
    planId: `plan-${number}`,
    unitAmount: '$1.00',
  }))
  const before = { ADMIN_TOKEN: 'a'.repeat(64), PLANS }
  writeConfigFile(dataDir, before)
  const { code, errors } = await cliOnFullDisk({ DATA_DIR: dataDir }, 'keys', 'rotate', 'ADMIN_TOKEN')
  expect(readConfigFile(dataDir)).toEqual({ values: before, faults: [] })
  expect({ code, errors }).toEqual({ code: 1, errors: expect.stringContaining('EFBIG') })
  expect(await readdir(dataDir)).toEqual(['config.json'])
})

test('an export that does not fit on the disk leaves the file that was there', async () => {
  const out = join(folder, 'sales.jsonl')
  await writeFile(out, 'of last year')
  const env = await answering(`${JSON.stringify({ challengeId: 'x'.repeat(20_000) })}\n`)
  const told = await cliOnFullDisk(env, 'export', '--format', 'jsonl', '--out', out)
  expect(await readFile(out, 'utf8')).toBe('of last year')
  expect(told).toMatchObject({ code: 1, errors: expect.stringContaining('EFBIG') })
  expect(await readdir(folder)).not.toContainEqual(expect.stringContaining('.part'))
})

test('a backup of a running server that does not fit on the disk is none', async () => {
  const store = openSqliteStore({ path: join(dataDir, 'paystile.db') })
  const env = await answering('x'.repeat(20_000))
  const told = await cliOnFullDisk(env, 'backup', join(folder, 'backup.db'))
  await store.close()
  expect(told).toMatchObject({ code: 1, errors: expect.stringContaining('EFBIG') })
  expect(await readdir(folder)).toEqual(['data'])
})
