import fs from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ConfigError } from '../errors.ts'
import { loadConfiguration } from '../server/load-configuration.ts'
import { openBackstage } from './open-backstage.ts'

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-backstage-'))
  await writeFile(join(dataDir, 'paystile.db'), '')
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

/** What a command says if the store cannot be copied for this reason. */
async function faultOf(reason: Error): Promise<unknown> {
  const loaded = await loadConfiguration({ DATA_DIR: dataDir, SVC_MANAGED_INFRA: 'none' }, { warn() {} })
  const { copyFileSync } = fs
  fs.copyFileSync = () => {
    throw reason
  }
  syncBuiltinESMExports()
  try {
    return await openBackstage(loaded, 'look').catch((error: unknown) => error)
  } finally {
    fs.copyFileSync = copyFileSync
    syncBuiltinESMExports()
  }
}

test.each([
  ['the copy', new Error('ENOSPC: no space left on device, copyfile')],
  ['its log', new ConfigError(['/tmp/x/paystile.db cannot be used as a store: database or disk is full'])],
])('where the temporary folder has no room for %s, two ways out are named', async (_what, reason) => {
  const fault = await faultOf(reason)
  expect(fault).toBeInstanceOf(ConfigError)
  expect((fault as ConfigError).faults).toEqual([expect.stringMatching(/no room.*ADMIN_TOKEN.*TMPDIR/)])
})

test('another reason is told as it is', async () => {
  const reason = new Error('EIO: i/o error, copyfile')
  expect(await faultOf(reason)).toBe(reason)
})
