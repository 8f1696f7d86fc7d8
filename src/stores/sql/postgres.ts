import { ConfigError, UnavailableError } from '../../errors.ts'
import type { Store } from '../../ports.ts'
import { isLastingTlsFault, reasonOf } from '../../reason-of.ts'
import type { Driver, Script } from './driver.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations.ts'
import { PostgresFault } from './postgres-connection.ts'
import { createPostgresDriver } from './postgres-driver.ts'
import { parsePostgresUrl } from './postgres-url.ts'
import { type CommittedListener, createWakeups } from './postgres-wakeups.ts'
import { createSqlStore } from './sql-store.ts'

/** After this time a server that does not answer counts as unavailable; it cancels a statement itself a little earlier. */
const TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 4_000
/** A migration may rebuild a table, or wait for another instance that is doing so. */
const MIGRATION_TIMEOUT_MS = 600_000

export interface PostgresOptions {
  url: string
  /** The schema of all tables; created if it is absent. Default `paystile`. */
  schema?: string
  /** Default 10; one more if `onCommitted` is used. */
  maxConnections?: number
}

export interface PostgresStore extends Store {
  /**
   * Calls the listener with challenges that other instances changed, soon after they did. It is only a hint: it may be lost or
   * come twice, and does not say what changed. Returns a function that ends it.
   */
  onCommitted(listener: CommittedListener): () => void
}

/**
 * Opens a store that many instances share, and brings its tables up to date first. Throws ConfigError with one line if
 * the database cannot be used as it is, and UnavailableError if it does not answer.
 *
 * The `seq` of an audit entry is assigned when its step is written. Within a challenge it is the order of the commits, since
 * each step needs the version that the step before it left. Between challenges of different instances a lower number may
 * appear later than a higher one.
 *
 * @example
 * const store = await openPostgresStore({ url: 'postgres://paystile:secret@localhost:5432/shop' })
 */
export async function openPostgresStore({
  url,
  schema = 'paystile',
  maxConnections = 10,
}: PostgresOptions): Promise<PostgresStore> {
  const target = parsePostgresUrl(url)
  checkSchema(schema)
  const settings = { target, schema, statementTimeoutMs: STATEMENT_TIMEOUT_MS }
  const driver = createPostgresDriver({ ...settings, timeoutMs: TIMEOUT_MS, max: maxConnections })
  try {
    if (!(await isUpToDate(driver))) await migratePostgres(url, { schema })
  } catch (error) {
    await driver.close()
    throw explain(target.label, error)
  }
  const wakeups = createWakeups(driver, settings)
  const store = createSqlStore(driver)
  return {
    ...store,
    async commit(step) {
      const challengeIds = step.puts.flatMap(({ table, row }) => (table === 'challenges' ? [row.key] : []))
      const result = await store.commit(step)
      if (result.kind === 'applied') wakeups.tell(challengeIds)
      return result
    },
    onCommitted: wakeups.listen,
    async close() {
      await wakeups.close()
      await store.close()
    },
  }
}

/**
 * Brings the tables up to date. Any number of instances may do so at once: one of them does the work, the others wait
 * and find it done. If nothing is left to do, no right to create anything is needed.
 */
export async function migratePostgres(
  url: string,
  { schema = 'paystile' }: { schema?: string } = {},
): Promise<void> {
  const target = parsePostgresUrl(url)
  checkSchema(schema)
  const within = async <T>(limitMs: number, work: (driver: Driver) => Promise<T>): Promise<T> => {
    const limits = { statementTimeoutMs: limitMs, timeoutMs: limitMs, max: 1 }
    const driver = createPostgresDriver({ target, schema, ...limits })
    try {
      return await work(driver)
    } catch (error) {
      throw explain(target.label, error)
    } finally {
      await driver.close()
    }
  }
  if (await within(TIMEOUT_MS, isUpToDate)) return
  await within(MIGRATION_TIMEOUT_MS, (driver) => {
    return driver.transaction(() => migrateAlone(target.label, schema, driver))
  })
}

/** See holdsRecords. */
export async function postgresHoldsRecords(
  url: string,
  { schema = 'paystile' }: { schema?: string } = {},
): Promise<boolean> {
  const target = parsePostgresUrl(url)
  const limits = { statementTimeoutMs: STATEMENT_TIMEOUT_MS, timeoutMs: TIMEOUT_MS, max: 1 }
  const driver = createPostgresDriver({ target, schema, ...limits })
  try {
    return (await driver.query({ sql: 'SELECT 1 FROM audit LIMIT 1', params: [] })).rows.length > 0
  } catch (error) {
    if (isAbsentTable(error)) return false
    throw explain(target.label, error)
  } finally {
    await driver.close()
  }
}

function* migrateAlone(label: string, schema: string, driver: Driver): Script<void> {
  yield [{ sql: 'SELECT pg_advisory_xact_lock(hashtextextended(?, 0))', params: [`paystile ${schema}`] }]
  yield [{ sql: `CREATE SCHEMA IF NOT EXISTS "${schema}"`, params: [] }]
  yield* migrate(label, driver.dialect)
}

async function isUpToDate(driver: Driver): Promise<boolean> {
  await checkEncoding(driver)
  try {
    const { rows } = await driver.query({ sql: 'SELECT id, breaking FROM migrations', params: [] })
    const known = new Set(MIGRATIONS.map(({ id }) => id))
    const applied = new Set(rows.map((row) => Number(row.id)))
    const broken = rows.some((row) => Number(row.breaking) === 1 && !known.has(Number(row.id)))
    return !broken && MIGRATIONS.every(({ id, onDemand }) => onDemand || applied.has(id))
  } catch (error) {
    // Nothing has run yet.
    if (isAbsentTable(error)) return false
    throw error
  }
}

function isAbsentTable(error: unknown): boolean {
  return error instanceof PostgresFault && error.code === '42P01'
}

function checkSchema(schema: string): void {
  if (/^[a-z_][a-z0-9_]{0,49}$/.test(schema)) return
  throw new ConfigError([`The Postgres schema is ${schema}; expected lower-case letters, digits and _.`])
}

async function checkEncoding(driver: Driver): Promise<void> {
  const { rows } = await driver.query({ sql: 'SHOW server_encoding', params: [] })
  const encoding = rows[0]?.server_encoding
  if (encoding !== 'UTF8') throw new PostgresFault('22021', `its encoding is ${encoding}; UTF8 is needed`)
}

function explain(label: string, error: unknown): Error {
  if (error instanceof ConfigError || error instanceof UnavailableError) return error
  // The server answered, and would give the same answer again: wrong password, no such database, no right to create tables.
  if (error instanceof PostgresFault && /^(0A|22|28|3D|42)/.test(error.code)) {
    return new ConfigError([`${label} cannot be used as a store: ${error.message}`])
  }
  if (isLastingTlsFault(error)) {
    const fix =
      'Name its authority in sslrootcert, or choose another sslmode: require does not check certificates, disable speaks no TLS.'
    return Object.assign(new ConfigError([`${label} ${reasonOf(error)}. ${fix}`]), { cause: error })
  }
  return new UnavailableError(label, error, `Postgres ${reasonOf(error)}`)
}
