import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { type PostgresServer, startPostgres } from '../../src/testing/postgres-server.ts'

/** What Postgres has done since it was started. */
export interface StoreUsage {
  cpuMs: number
  statements: number
  writes: number
  walBytes: number
  rowBytes: number
  /** In which it waited until the disk had its log: one such wait at a time. */
  diskMs: number
}

export interface MeasuredPostgres {
  url: string
  usage(): Promise<StoreUsage>
  stop(): Promise<void>
}

/** Of the clock by which Linux counts what processes use. */
const TICK_MS = 10

/** A Postgres server that counts its statements. */
export async function startMeasuredPostgres(): Promise<MeasuredPostgres> {
  const server = await startPostgres()
  try {
    await countStatements(server)
  } catch (error) {
    await server.stop()
    throw error
  }
  const sql = connect(server)
  return {
    url: server.url,
    async usage() {
      const [counted] = await sql`
        SELECT (SELECT coalesce(sum(calls), 0) FROM pg_stat_statements)::float8 AS statements,
          pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS writes,
          pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS "walBytes",
          (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'paystile' AND c.relkind = 'r')::float8 AS "rowBytes",
          (SELECT wal_sync_time FROM pg_stat_wal)::float8 AS "diskMs"`
      return { ...(counted as Omit<StoreUsage, 'cpuMs'>), cpuMs: cpuMsOf(mainProcess(server)) }
    },
    async stop() {
      await sql.end()
      await server.stop()
    },
  }
}

const connect = ({ url }: PostgresServer) => postgres(url, { max: 1, onnotice: () => {} })

async function countStatements(server: PostgresServer): Promise<void> {
  const before = connect(server)
  await before`ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'`
  await before`ALTER SYSTEM SET track_wal_io_timing = on`
  await before.end()
  await server.restart()
  const after = connect(server)
  await after`CREATE EXTENSION pg_stat_statements`
  await after.end()
}

function mainProcess({ folder }: PostgresServer): number {
  return Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0])
}

/** Of a process and those that it started, also of those that have ended. */
export function cpuMsOf(pid: number): number {
  const own = timesOf(pid)
  if (own === undefined) throw new Error(`process ${pid} is gone`)
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => timesOf(Number(name)) ?? [])
    .filter(({ parent }) => parent === pid)
  const ticks = children.reduce((sum, { ticks }) => sum + ticks, own.ticks + own.endedTicks)
  return ticks * TICK_MS
}

function timesOf(pid: number): { parent: number; ticks: number; endedTicks: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program is in brackets, and may hold anything.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    return { parent: fields[1]!, ticks: fields[11]! + fields[12]!, endedTicks: fields[13]! + fields[14]! }
  } catch {
    // It has just ended.
    return undefined
  }
}
