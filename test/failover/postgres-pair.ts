import { execFileSync } from 'node:child_process'
import { appendFileSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { freePort } from '../../src/testing/free-port.ts'
import {
  findPostgres,
  type PostgresServer,
  type RunningServer,
  serverUser,
  startPostgres,
  startServer,
} from '../../src/testing/postgres-server.ts'

const STANDBY = 'standby'

/** A primary, and a standby that has every commit before it is answered. */
export interface PostgresPair {
  primary: PostgresServer
  /** Both servers in one URL, the primary first. */
  url: string
  /** Makes the standby the primary; resolves when it accepts writes. */
  promote(): Promise<void>
  standby: RunningServer
  /** One statement at the standby. */
  atStandby(sql: string): Promise<readonly postgres.Row[]>
  atPrimary(sql: string): Promise<readonly postgres.Row[]>
  stop(): Promise<void>
}

/** Copies a running primary with pg_basebackup, follows it, and is then named in `synchronous_standby_names`. */
export async function startPostgresPair(): Promise<PostgresPair> {
  const primary = await startPostgres()
  const programs = findPostgres()
  const user = serverUser()
  const folder = mkdtempSync(join(tmpdir(), 'paystile-standby-'))
  if (user) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const as = { ...user, cwd: folder }
  const { password, username } = new URL(primary.url)
  const from = { host: '127.0.0.1', port: String(primary.port), user: username }
  execFileSync(
    join(programs, 'pg_basebackup'),
    ['-h', from.host, '-p', from.port, '-U', from.user, '-D', data, '-R', '-X', 'stream', '-c', 'fast'],
    { ...as, env: { PATH: process.env.PATH, PGPASSWORD: decodeURIComponent(password) }, stdio: 'pipe' },
  )
  // What -R wrote lacks the name under which the primary waits for it; the last line of a setting counts.
  const quoted = decodeURIComponent(password).replaceAll('\\', '\\\\').replaceAll("'", "\\'")
  const conninfo = `host=${from.host} port=${from.port} user=${from.user} password='${quoted}' application_name=${STANDBY}`
  appendFileSync(
    join(data, 'postgresql.auto.conf'),
    `primary_conninfo = '${conninfo.replaceAll('\\', '\\\\').replaceAll("'", "''")}'\n`,
  )
  const port = await freePort()
  const settings = { port: String(port), listen_addresses: '127.0.0.1', unix_socket_directories: folder }
  const flags = Object.entries({ ...settings, max_connections: '60', shared_buffers: '64MB' })
  const standby = await startServer(
    join(programs, 'postgres'),
    ['-D', data, ...flags.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    as,
    folder,
  )
  const standbyUrl = primary.url.replace(`:${primary.port}/`, `:${port}/`)
  const at = (url: string) => async (sql: string) => {
    const admin = postgres(url, { max: 1, onnotice: () => {} })
    return admin.unsafe(sql).finally(() => admin.end())
  }
  const [atPrimary, atStandby] = [at(primary.url), at(standbyUrl)]
  await atPrimary(`ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`)
  await atPrimary('SELECT pg_reload_conf()')
  const isSynchronous = async () =>
    (await atPrimary(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)).length > 0
  while (!(await isSynchronous())) await sleep(50)
  return {
    primary,
    standby,
    url: primary.url.replace(`:${primary.port}/`, `:${primary.port},127.0.0.1:${port}/`),
    atPrimary,
    atStandby,
    // It was copied before the primary was told to wait for a standby, so it waits for none itself.
    promote: async () => void (await atStandby('SELECT pg_promote(true, 60)')),
    async stop() {
      await standby.end('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
      await primary.stop()
    },
  }
}
