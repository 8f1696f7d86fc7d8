import { type Dialect, type Driver, LostRaceError, type Query, type Script } from './driver.ts'
import { type PostgresConnection, PostgresFault, type PostgresSettings } from './postgres-connection.ts'
import { createPool } from './postgres-pool.ts'

const RACES = 10

export const postgresDialect: Dialect = {
  // The parameter is declared as text, because the client library would encode a json parameter a second time.
  inKeys: '= ANY (ARRAY(SELECT json_array_elements_text(?::text::json)))',
  forUpdate: 'FOR UPDATE',
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  records: (columns) => {
    const list = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
    return `json_to_recordset(?::text::json) AS new (${list.join(', ')})`
  },
  text: 'TEXT COLLATE "C"',
  counter: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  appendOnly: (table) => [
    `CREATE FUNCTION ${table}_refuses_change() RETURNS trigger LANGUAGE plpgsql
      AS 'BEGIN RAISE EXCEPTION ''${table} is append-only''; END'`,
    `CREATE TRIGGER ${table}_refuses_change BEFORE UPDATE OR DELETE OR TRUNCATE ON ${table}
      FOR EACH STATEMENT EXECUTE FUNCTION ${table}_refuses_change()`,
    // ALWAYS: also in a session with session_replication_role = replica.
    `ALTER TABLE ${table} ENABLE ALWAYS TRIGGER ${table}_refuses_change`,
  ],
}

// Explicit, so that the server's defaults do not matter: each statement must see what was committed before it began.
const BEGIN = command('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
const COMMIT = command('COMMIT')
const ROLLBACK = command('ROLLBACK')

/** Runs many transactions at once, one connection each; the server's row locks put them in order. */
export function createPostgresDriver(
  settings: PostgresSettings & { timeoutMs: number; max: number },
): Driver {
  const pool = createPool(settings)
  return {
    name: 'postgres',
    exclusive: false,
    dialect: postgresDialect,
    query: (query) => pool.use(performance.now(), async (connection) => (await connection.run([query]))[0]!),
    transaction: (script, { sinceMs = performance.now() } = {}) => {
      return pool.use(sinceMs, async (connection) => {
        for (let race = 1; ; race++) {
          try {
            return await runOnce(connection, script)
          } catch (error) {
            if (race === RACES || !lostRace(error)) throw error
          }
        }
      })
    },
    close: pool.close,
  }
}

async function runOnce<T>(connection: PostgresConnection, script: () => Script<T>): Promise<T> {
  let result: T
  try {
    const steps = script()
    let turn = steps.next()
    let opening = [BEGIN]
    // Queries that are sent together with BEGIN run even if BEGIN fails, so they may only read and lock.
    if (!turn.done && !turn.value.every(({ sql }) => sql.startsWith('SELECT '))) {
      await connection.run(opening)
      opening = []
    }
    while (!turn.done) {
      const answers = await connection.run([...opening, ...turn.value])
      turn = steps.next(answers.slice(opening.length))
      opening = []
    }
    result = turn.value
  } catch (error) {
    await connection.run([ROLLBACK]).catch(connection.destroy)
    throw error
  }
  // From here on only the database knows the outcome: an error is passed on and never leads to a second try.
  try {
    const [answer] = await connection.run([COMMIT])
    if (answer!.command !== 'COMMIT') throw new Error(`COMMIT was answered by ${answer!.command}`)
    return result
  } catch (cause) {
    connection.destroy()
    throw new Error('it is unknown whether the transaction was committed', { cause })
  }
}

/** Nothing was committed, and a second try may succeed: a row appeared, a deadlock, a serialization failure. */
function lostRace(error: unknown): boolean {
  return (
    error instanceof LostRaceError || (error instanceof PostgresFault && /^40(P01|001)$/.test(error.code))
  )
}

function command(sql: string): Query {
  return { sql, params: [] }
}
