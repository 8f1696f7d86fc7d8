import { createHash } from 'node:crypto'
import Database from 'libsql'
import { beforeEach, describe, expect, test } from 'vitest'
import { ConfigError } from '../../errors.ts'
import type { Dialect } from './driver.ts'
import { admitSeveralNetworks, migrate } from './migrate.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'
import { postgresDialect } from './postgres-driver.ts'
import { createSqliteDriver, type SqliteDriver } from './sqlite-driver.ts'

let driver: SqliteDriver
beforeEach(() => {
  driver = createSqliteDriver(new Database(':memory:'))
})

const run = (known?: Migration[]) =>
  driver.transactionNow(() => migrate('./data/x.db', driver.dialect, known))
const rows = async (sql: string) => (await driver.query({ sql, params: [] })).rows
const adding = (id: number, name: string, breaking = false): Migration => {
  return { id, name, since: `0.${id}.0`, breaking, up: () => [`CREATE TABLE ${name} (x BIGINT)`] }
}

describe('migrations', () => {
  test('run once, in order, and are remembered', async () => {
    run([adding(1, 'one'), adding(2, 'two')])
    run([adding(1, 'one'), adding(2, 'two'), adding(3, 'three', true)])
    expect(await rows('SELECT id, name, since, breaking FROM migrations')).toEqual([
      { id: 1, name: 'one', since: '0.1.0', breaking: 0 },
      { id: 2, name: 'two', since: '0.2.0', breaking: 0 },
      { id: 3, name: 'three', since: '0.3.0', breaking: 1 },
    ])
  })

  test('leave nothing behind when one of them fails', async () => {
    expect(() => run([adding(1, 'one'), { ...adding(2, 'two'), up: () => ['CREATE nonsense'] }])).toThrow()
    expect(await rows('SELECT name FROM sqlite_master')).toEqual([])
  })

  test('stop an older version that does not know them only if they are breaking', () => {
    run([adding(1, 'one'), adding(2, 'two')])
    run([adding(1, 'one')])
    run([
      adding(1, 'one'),
      adding(2, 'two'),
      adding(3, 'three', true),
      adding(4, 'four', true),
      adding(5, 'five'),
    ])
    expect(() => run([adding(1, 'one')])).toThrow(ConfigError)
    expect(() => run([adding(1, 'one')])).toThrow(
      './data/x.db was upgraded by a newer paystile (migration 4, four); run paystile 0.4.0 or newer.',
    )
  })

  test('the one for several networks waits until there are several, and stops versions that know one', async () => {
    run()
    expect(await rows('SELECT id FROM migrations')).toEqual([
      { id: 1 },
      { id: 2 },
      { id: 4 },
      { id: 5 },
      { id: 6 },
      { id: 7 },
    ])
    driver.transactionNow(admitSeveralNetworks)
    driver.transactionNow(admitSeveralNetworks)
    run()
    expect(await rows('SELECT id FROM migrations ORDER BY id')).toEqual([
      { id: 1 },
      { id: 2 },
      { id: 3 },
      { id: 4 },
      { id: 5 },
      { id: 6 },
      { id: 7 },
    ])
    expect(() => run(MIGRATIONS.slice(0, 2))).toThrow(
      'upgraded by a newer paystile (migration 3, several-networks)',
    )
  })

  test('are numbered from 1 without gaps', () => {
    expect(MIGRATIONS.map((migration) => migration.id)).toEqual(MIGRATIONS.map((_, index) => index + 1))
  })

  // Released migrations have run in someone's database. Add a line for each new one, and change none.
  test('never change once released', () => {
    const digest = ({ up }: Migration, dialect: Dialect) => {
      return createHash('sha256').update(up(dialect).join('\n')).digest('hex').slice(0, 16)
    }
    const lines = MIGRATIONS.map((migration) => {
      const [sqlite, postgres] = [driver.dialect, postgresDialect].map((one) => digest(migration, one))
      return `${migration.id} ${migration.name} ${sqlite} ${postgres}`
    })
    expect(lines).toEqual([
      '1 first-tables aea842756a86bacc b1d1bdd7990e69f6',
      '2 holds 9dec0d3660b5cf1f 444f0074b7193150',
      '3 several-networks e3b0c44298fc1c14 e3b0c44298fc1c14',
      '4 lots 9553c38c5cad393e eb1346a0c33829a3',
      '5 credits fb854f9fbe369379 5e3859871886e359',
      '6 webhooks 51a831ea1be59e97 85f7b75e922d672c',
      '7 books 9e76bbae12750905 3e95e640ea77772e',
    ])
  })
})
