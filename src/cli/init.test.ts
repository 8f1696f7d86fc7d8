import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfigFile, writeConfigFile } from '../config/config-file.ts'
import { initialize } from './init.ts'

const saved = {
  SVC_WALLET_ADDRESS: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F',
  PLANS: [{ planId: 'basic', unitAmount: '$1.00' }],
  TOKEN_SECRET: 'correct-horse-battery-staple-0123456789',
  RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
  SVC_SECRET_KEY: 'k'.repeat(40),
  DATABASE_URL: 'postgres://u:p@127.0.0.1:1/shop',
}

test('a store that cannot be asked is not left without --force, and neither is that of an incomplete configuration', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-init-'))
  const { SVC_SECRET_KEY, ...incomplete } = saved
  const elsewhere = { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/other' }
  const { stdin: input, stdout: output, stderr: errors } = process
  const terminal = { env: { ...elsewhere, SVC_SECRET_KEY, DATA_DIR: dataDir }, input, output, errors }
  try {
    for (const before of [saved, incomplete]) {
      writeConfigFile(dataDir, before)
      await expect(initialize(terminal, { yes: true })).rejects.toThrow(
        /in postgres:\/\/u@127.0.0.1:1\/shop; with postgres.*\/other.*\n.*--force/,
      )
      expect(readConfigFile(dataDir).values).toEqual(before)
    }
    await initialize(terminal, { yes: true, force: true })
    expect(readConfigFile(dataDir).values).toMatchObject(elsewhere)
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('what somebody saved while init was under way is kept: init is refused', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-init-'))
  const { stdin: input, stdout: output, stderr: errors } = process
  const terminal = { env: { DATA_DIR: dataDir, AGENT_NAME: 'Ada' }, input, output, errors }
  const meanwhile = { ...saved, TOKEN_SECRET: 'another-horse-battery-staple-0123456789' }
  try {
    writeConfigFile(dataDir, saved)
    const ended = initialize(terminal, { yes: true })
    writeConfigFile(dataDir, meanwhile)
    await expect(ended).rejects.toThrow(/changed meanwhile.*nothing was written/)
    expect(readConfigFile(dataDir).values).toEqual(meanwhile)
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})
