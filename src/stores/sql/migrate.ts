import { ConfigError } from '../../errors.ts'
import type { Dialect, Script } from './driver.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'

/**
 * Brings the database up to date. A newer version may have migrated it already, since both share it during an
 * upgrade: what that version only added is tolerated, and a breaking migration ends this process before it misreads anything.
 */
export function* migrate(
  database: string,
  dialect: Dialect,
  known: readonly Migration[] = MIGRATIONS,
): Script<void> {
  yield [
    query(
      'CREATE TABLE IF NOT EXISTS migrations (id BIGINT PRIMARY KEY NOT NULL, name TEXT NOT NULL, since TEXT NOT NULL, breaking BIGINT NOT NULL)',
    ),
  ]
  const [stored] = yield [query('SELECT id, name, since, breaking FROM migrations ORDER BY id')]
  const applied = new Set(stored!.rows.map((row) => Number(row.id)))

  refuseNewer(database, stored!.rows, known)

  for (const migration of known) {
    if (applied.has(migration.id) || migration.onDemand) continue
    for (const sql of migration.up(dialect)) yield [query(sql)]
    yield [remember(migration)]
  }
}

/** Throws if a migration that this version does not know makes its rows unreadable here. */
export function refuseNewer(
  database: string,
  stored: ReadonlyArray<Readonly<Record<string, unknown>>>,
  known: readonly Migration[] = MIGRATIONS,
): void {
  const knownIds = new Set(known.map((migration) => migration.id))
  // The newest migration names the version that knows all of them.
  const broken = stored.findLast((row) => Number(row.breaking) === 1 && !knownIds.has(Number(row.id)))
  if (broken === undefined) return
  throw new ConfigError([
    `${database} was upgraded by a newer paystile (migration ${broken.id}, ${broken.name}); run paystile ${broken.since} or newer.`,
  ])
}

/** Stops versions that know one network only: they would judge payments on another chain by their own. */
export function* admitSeveralNetworks(): Script<void> {
  const migration = MIGRATIONS.find(({ name }) => name === 'several-networks')
  if (migration) yield [remember(migration)]
}

function remember({ id, name, since, breaking }: Migration) {
  return query(
    'INSERT INTO migrations (id, name, since, breaking) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
    [id, name, since, breaking ? 1 : 0],
  )
}

function query(sql: string, params: Array<string | number> = []) {
  return { sql, params }
}
