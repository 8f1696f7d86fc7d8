import { type Dialect, type Driver, LostRaceError, type Query, type Script } from './driver.ts'
import { type PostgresConnection, PostgresFault, type PostgresSettings } from './postgres-connection.ts'
import { createPool } from './postgres-pool.ts'

const RACES = 10

export const postgresDialect: Dialect = {
  // The parameter is text: the client library would encode a json one a second time.
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
    // ALWAYS: also in a session that calls itself a replica.
    `ALTER TABLE ${table} ENABLE ALWAYS TRIGGER ${table}_refuses_change`,
  ],
}

// Said in full, whatever the server's defaults are: each statement must see what was committed before it began.
const BEGIN = command('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
const COMMIT = command('COMMIT')
const ROLLBACK = command('ROLLBACK')

/** Many transactions at once, one connection each; the server's row locks put them in order. */
export function createPostgresDriver(
  settings: PostgresSettings & { patienceMs: number; max: number },
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
    // What goes out together with BEGIN is run even if BEGIN is refused; so it may only look, and lock.
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
  // From here on nobody but the database knows: an error is passed on as it is and never leads to a second try.
  try {
    const [answer] = await connection.run([COMMIT])
    if (answer!.command !== 'COMMIT') throw new Error(`COMMIT was answered by ${answer!.command}`)
    return result
  } catch (cause) {
    connection.destroy()
    throw new Error('it is unknown whether the transaction was committed', { cause })
  }
}

/** Nothing is committed, and the same again may succeed: a row appeared, a deadlock, a serialization failure. */
function lostRace(error: unknown): boolean {
  return (
    error instanceof LostRaceError || (error instanceof PostgresFault && /^40(P01|001)$/.test(error.code))
  )
}

function command(sql: string): Query {
  return { sql, params: [] }
}
