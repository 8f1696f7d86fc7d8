import { ConfigError } from '../errors.ts'
import { migratePostgres } from '../stores/sql/postgres.ts'

/** Brings the tables of `DATABASE_URL` up to date, for operators whose server may not do so when it starts. */
export async function migrate(env: NodeJS.ProcessEnv): Promise<void> {
  const url = env.DATABASE_URL?.trim()
  if (!url) {
    throw new ConfigError([
      'DATABASE_URL is missing; for example DATABASE_URL=postgres://user:password@host:5432/database. Other stores need no migration.',
    ])
  }
  await migratePostgres(url)
}
