import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfiguration } from './load-configuration.ts'

const env = {
  SVC_WALLET_ADDRESS: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F',
  PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
  TOKEN_SECRET: 'correct-horse-battery-staple-0123456789',
  RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
}

let dataDir: string
let warnings: string[]
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-load-'))
  warnings = []
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

/** As a command or a server that starts where DNS knows both hosts. */
const load = () =>
  loadConfiguration(
    { ...env, DATA_DIR: dataDir },
    { warn: (message) => void warnings.push(message), findHost: async () => 'found' },
  )

/** Another process that has the embedded store open, as a running server has. */
async function holdStore(): Promise<{ release(): Promise<void> }> {
  const script = `
    const Database = require(${JSON.stringify(join(process.cwd(), 'node_modules/libsql'))})
    const database = new Database(${JSON.stringify(join(dataDir, 'paystile.db'))})
    database.exec('PRAGMA locking_mode = EXCLUSIVE')
    database.exec('PRAGMA journal_mode = WAL')
    database.exec('BEGIN IMMEDIATE; COMMIT')
    process.stdout.write('open')
    process.stdin.resume()`
  const holder = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(holder.stdout, 'data')
  return {
    async release() {
      holder.stdin.end()
      if (holder.exitCode === null) await once(holder, 'exit')
    },
  }
}

test('beside a server that kept its embedded store, commands use that store too, whatever DNS shows', async () => {
  const server = await holdStore()
  try {
    const { configuration } = await load()
    expect(configuration.config?.store).toEqual({ kind: 'embedded', dataDir })
    expect(warnings).toEqual([expect.stringMatching(/DNS shows redis,postgres, but .* stays in use/)])
  } finally {
    await server.release()
  }
})

test('a damaged embedded store is not left for one that DNS shows', async () => {
  await writeFile(join(dataDir, 'paystile.db'), 'not a database, but long enough to look like one'.repeat(99))
  expect((await load()).configuration.config?.store).toEqual({ kind: 'embedded', dataDir })
})
