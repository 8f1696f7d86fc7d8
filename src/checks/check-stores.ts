import { randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkServer } from '../stores/redis/check-server.ts'
import { connectRedis } from '../stores/redis/connect-redis.ts'
import { createPostgresDriver } from '../stores/sql/postgres-driver.ts'
import { parsePostgresUrl } from '../stores/sql/postgres-url.ts'
import type { Check, Finding } from './run-checks.ts'

/** Can we log in to Postgres? Changes nothing: tables are created when the gateway starts. */
export function checkPostgres(url: string): Check {
  const name = 'DATABASE_URL'
  const fix = 'Start Postgres, or fix host, user, password or database in DATABASE_URL.'
  return {
    name,
    asks: 'Postgres',
    fix,
    async run(limitMs) {
      const target = parsePostgresUrl(url)
      const limits = { statementTimeoutMs: limitMs, timeoutMs: limitMs, max: 1 }
      const driver = createPostgresDriver({ target, schema: 'paystile', ...limits })
      try {
        const { rows } = await driver.query({ sql: 'SHOW server_version', params: [] })
        return [{ name, level: 'ok', message: `${target.label} answers (${rows[0]?.server_version})` }]
      } finally {
        await driver.close()
      }
    },
  }
}

/** Can we log in to Redis, and is it durable? It need not be durable if it only carries wake-ups between instances. */
export function checkRedis(url: string, keepsRecords: boolean, mainnet: boolean): Check {
  const name = 'REDIS_URL'
  return {
    name,
    asks: 'Redis',
    fix: 'Start Redis, or fix host, user or password in REDIS_URL.',
    async run(limitMs) {
      const connection = await connectRedis({ url, timeoutMs: limitMs })
      try {
        const { lossy, unchecked } = await checkServer(connection)
        const level = mainnet ? 'error' : 'warn'
        const told: Finding[] = [
          ...lossy.map(
            (message): Finding => ({ name, level, message, fix: 'Change redis.conf and restart it.' }),
          ),
          ...unchecked.map((message): Finding => ({ name, level: 'warn', message })),
        ]
        if (keepsRecords && told.length > 0) return told
        return [{ name, level: 'ok', message: 'Redis answers' }]
      } finally {
        connection.close()
      }
    },
  }
}

/** May we write where the embedded store, the secret key and the saved configuration live? */
export function checkDataDir(dataDir: string): Check {
  const name = 'DATA_DIR'
  return {
    name,
    asks: `the folder ${dataDir}`,
    fix: `Make ${dataDir} a folder that this process may write to, on a disk that outlives the container.`,
    async run() {
      const probe = join(dataDir, `probe-${randomBytes(6).toString('hex')}`)
      await mkdir(dataDir, { recursive: true, mode: 0o700 })
      await writeFile(probe, '', { flag: 'wx', mode: 0o600 })
      await rm(probe)
      return [{ name, level: 'ok', message: `the folder ${dataDir} can be written` }]
    },
  }
}
