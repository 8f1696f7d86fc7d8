import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { openPostgresStore } from '../../src/stores/sql/postgres.ts'
import { startPostgres } from '../../src/testing/postgres-server.ts'
import { SERVER_PROGRAM } from '../server-program.ts'

const migrate = (env: Record<string, string>) =>
  spawnSync(process.execPath, [SERVER_PROGRAM, 'migrate'], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH ?? '', ...env },
  })

test('paystile migrate says what it needs', () => {
  const { status, stderr } = migrate({})
  expect(status).toBe(1)
  expect(stderr).toMatch(/^DATABASE_URL is missing; [^\n]*\n$/)
})

test('paystile migrate makes the tables, and again changes nothing', async () => {
  const postgres = await startPostgres()
  try {
    for (let run = 0; run < 2; run++) {
      expect(migrate({ DATABASE_URL: postgres.url })).toMatchObject({
        status: 0,
        stdout: 'The tables are up to date.\n',
      })
    }
    const store = await openPostgresStore({ url: postgres.url })
    expect(await store.get('challenges', ['none'])).toEqual([undefined])
    await store.close()
  } finally {
    await postgres.stop()
  }
})
