import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const LIMIT_MS = 480_000

test(
  'every part of npm run bench -- --scale runs',
  async () => {
    const root = fileURLToPath(new URL('..', import.meta.url))
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['scripts/bench.mjs', '--scale', '--quick'],
      { cwd: root, timeout: LIMIT_MS, maxBuffer: 2 ** 24 },
    )
    for (const said of [
      'purchase, 2 at one Postgres',
      'call, 2 at one Postgres',
      'purchase, 2 instances: CPU ms of Postgres',
      'call, 2 instances: statements',
      '2 gas wallets: payments in a full block',
      '2 gas wallets: what binds, blocks at their time',
    ])
      expect(stdout).toContain(said)
  },
  LIMIT_MS,
)
