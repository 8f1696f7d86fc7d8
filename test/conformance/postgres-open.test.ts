import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConfigError, UnavailableError } from '../../src/errors.ts'
import { migratePostgres, openPostgresStore } from '../../src/stores/sql/postgres.ts'
import { type PostgresServer, startPostgres } from '../../src/testing/postgres-server.ts'
import { sampleAudit, samplePut } from '../../src/testing/store-rows.ts'

let server: PostgresServer
let admin: postgres.Sql
beforeAll(async () => {
  server = await startPostgres()
  admin = postgres(server.url, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await admin.end()
  await server.stop()
})

const put = (key: string) => samplePut('requests', { key })

describe('migrations', () => {
  test('by eight instances at once run once', async () => {
    const options = { url: server.url, schema: 'boot' }
    const stores = await Promise.all(Array.from({ length: 8 }, () => openPostgresStore(options)))
    expect(await admin`SELECT id, name FROM boot.migrations`).toEqual([
      { id: '1', name: 'first-tables' },
      { id: '2', name: 'holds' },
      { id: '4', name: 'lots' },
      { id: '5', name: 'credits' },
      { id: '6', name: 'webhooks' },
      { id: '7', name: 'books' },
    ])
    expect(await stores[0]!.commit({ puts: [put('a')] })).toEqual({ kind: 'applied' })
    expect((await stores[7]!.get('requests', ['a']))[0]?.version).toBe(1)
    await Promise.all(stores.map((store) => store.close()))
  })

  test('that have run need no right to create anything', async () => {
    await migratePostgres(server.url, { schema: 'given' })
    await admin.unsafe(`
      CREATE ROLE clerk LOGIN PASSWORD 'clerk';
      GRANT USAGE ON SCHEMA given TO clerk;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA given TO clerk`)
    const url = `postgres://clerk:clerk@127.0.0.1:${server.port}/postgres`
    const store = await openPostgresStore({ url, schema: 'given' })
    expect(await store.commit({ puts: [put('a')], audit: [sampleAudit('x', 'opened')] })).toEqual({
      kind: 'applied',
    })
    await store.close()
    await expect(openPostgresStore({ url, schema: 'other' })).rejects.toThrow(
      /cannot be used as a store: permission denied/,
    )
  })

  test('of a newer version that breaks this one are respected', async () => {
    await migratePostgres(server.url, { schema: 'newer' })
    await admin`INSERT INTO newer.migrations VALUES (98, 'adds', '9.8.0', 0)`
    await migratePostgres(server.url, { schema: 'newer' })
    await admin`INSERT INTO newer.migrations VALUES (99, 'breaks', '9.9.0', 1)`
    await expect(openPostgresStore({ url: server.url, schema: 'newer' })).rejects.toThrow(
      /upgraded by a newer paystile \(migration 99, breaks\); run paystile 9\.9\.0/,
    )
  })
})

test('the audit log refuses UPDATE, DELETE, TRUNCATE and numbers of its own choice', async () => {
  const store = await openPostgresStore({ url: server.url, schema: 'log' })
  await store.commit({ puts: [], audit: [sampleAudit('x', 'opened')] })
  for (const tamper of [
    `UPDATE log.audit SET event = 'forged'`,
    'DELETE FROM log.audit',
    'TRUNCATE log.audit',
    `SET session_replication_role = replica; DELETE FROM log.audit`,
  ]) {
    await expect(admin.unsafe(tamper), tamper).rejects.toThrow('audit is append-only')
  }
  await admin`SET session_replication_role = origin`
  const values = `(1, 0, 'x', 'r', 'forged', 'buyer')`
  const insert = `INSERT INTO log.audit (seq, at, challenge_id, request_id, event, actor)`
  await expect(admin.unsafe(`${insert} VALUES ${values}`)).rejects.toThrow('non-DEFAULT value')
  expect((await store.audit('x')).map(({ event }) => event)).toEqual(['opened'])
  await store.close()
})

test.each(['off', 'local'])(
  "the server's defaults do not weaken the store: synchronous_commit %s",
  async (weak) => {
    const lax = `lax_${weak}`
    await admin.unsafe(`
    CREATE ROLE ${lax} LOGIN SUPERUSER PASSWORD 'lax';
    ALTER ROLE ${lax} SET default_transaction_isolation = 'serializable';
    ALTER ROLE ${lax} SET default_transaction_read_only = on;
    ALTER ROLE ${lax} SET synchronous_commit = ${weak};
    ALTER ROLE ${lax} SET search_path = public`)
    const url = `postgres://${lax}:lax@127.0.0.1:${server.port}/postgres`
    const [one, two] = await Promise.all([0, 1].map(() => openPostgresStore({ url, schema: lax })))
    await admin.unsafe(`
    CREATE TABLE ${lax}.observed (sync text, isolation text);
    CREATE FUNCTION ${lax}.observe() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO ${lax}.observed
        SELECT current_setting('synchronous_commit'), current_setting('transaction_isolation');
      RETURN NEW;
    END $$;
    CREATE TRIGGER observe BEFORE INSERT ON ${lax}.requests FOR EACH ROW EXECUTE FUNCTION ${lax}.observe()`)
    const keys = Array.from({ length: 40 }, (_, index) => `k${index}`)
    const kinds = await Promise.all(
      keys.flatMap((key) =>
        [one!, two!].map(async (store) => (await store.commit({ puts: [put(key)] })).kind),
      ),
    )
    expect(kinds.filter((kind) => kind === 'applied')).toHaveLength(40)
    expect(await admin.unsafe(`SELECT DISTINCT sync, isolation FROM ${lax}.observed`)).toEqual([
      { sync: 'on', isolation: 'read committed' },
    ])
    await Promise.all([one!.close(), two!.close()])
  },
)

test('keys that no database could hold are simply absent', async () => {
  const store = await openPostgresStore({ url: server.url, schema: 'odd' })
  await store.commit({ puts: [put('a'), put('\ufffd')] })
  const rows = await store.get('requests', ['nul\0', 'a', 'half \ud83d', '\ud800'])
  expect(rows.map((row) => row?.key)).toEqual([undefined, 'a', undefined, undefined])
  expect([await store.list('requests', '\0'), await store.audit('\ud800')]).toEqual([[], []])
  await store.close()
})

test('close answers what is queued, and then everything is refused', async () => {
  const store = await openPostgresStore({ url: server.url, schema: 'closing' })
  const queued = [store.commit({ puts: [put('a')] }), store.commit({ puts: [put('a')] })]
  const reading = store.get('requests', ['b'])
  await Promise.all([store.close(), store.close()])
  expect((await Promise.all(queued)).map((result) => result.kind)).toEqual(['applied', 'conflict'])
  expect(await reading).toEqual([undefined])
  await expect(store.commit({ puts: [put('b')] })).rejects.toThrow(UnavailableError)
  await expect(store.ping()).rejects.toThrow('the postgres store is unavailable')
  const sessions = async () => {
    const left =
      await admin`SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'paystile'`
    return left[0]?.n
  }
  await expect.poll(sessions).toBe(0)
})

describe('what cannot be opened', () => {
  const wrong = (from: string, to: string) => openPostgresStore({ url: server.url.replace(from, to) })

  test('is a fault of the configuration where the server says so', async () => {
    const faults = await Promise.allSettled([
      wrong('://paystile:', '://paystile:wrong'),
      wrong('://paystile:', '://nobody:'),
      wrong('/postgres', '/absent'),
      openPostgresStore({ url: server.url, schema: 'No; DROP' }),
    ])
    for (const fault of faults) {
      const { reason } = fault as PromiseRejectedResult
      expect(reason).toBeInstanceOf(ConfigError)
      expect(reason.message).not.toMatch(/p@ss|p%40ss|\n/)
    }
    expect((faults[0] as PromiseRejectedResult).reason.message).toContain('password authentication failed')
    expect((faults[2] as PromiseRejectedResult).reason.message).toContain('database "absent" does not exist')
  })

  test('is unavailable if no server answers, and says why', async () => {
    const down = wrong(`:${server.port}/`, ':1/')
    await expect(down).rejects.toThrow(UnavailableError)
    await expect(down).rejects.toThrow(/:1\/postgres is unavailable: Postgres refuses the connection$/)
    const unknown = openPostgresStore({ url: 'postgres://u:hunter2@nowhere.invalid/x' })
    await expect(unknown).rejects.toThrow(
      /^postgres:\/\/u@nowhere\.invalid:5432\/x is unavailable: Postgres /,
    )
  })

  test('is refused where the encoding cannot hold every text', async () => {
    await admin.unsafe(`CREATE DATABASE old ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`)
    await expect(wrong('/postgres', '/old')).rejects.toThrow(/its encoding is LATIN1; UTF8 is needed/)
  })
})

test('TLS is spoken as sslmode asks', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-tls-'))
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost']
  const names = ['-addext', 'subjectAltName=DNS:localhost']
  execFileSync('openssl', [...request, ...names, '-keyout', keyFile, '-out', certFile], { stdio: 'pipe' })
  const secure = await startPostgres({
    tls: { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') },
  })
  const ask = async (query: string, host = 'localhost') => {
    const url = `${secure.url.replace('127.0.0.1', host)}?${query}`
    const store = await openPostgresStore({ url })
    await store.ping()
    const look = postgres(secure.url, { max: 1 })
    const sessions = await look`SELECT bool_or(ssl) AS ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
      WHERE application_name = 'paystile'`
    await look.end()
    await store.close()
    return sessions[0]?.ssl
  }
  try {
    expect(await ask('sslmode=disable')).toBe(false)
    expect(await ask('')).toBe(true)
    expect(await ask('sslmode=require&channel_binding=prefer')).toBe(true)
    expect(await ask(`sslmode=verify-full&sslrootcert=${certFile}`)).toBe(true)
    expect(await ask(`sslmode=verify-ca&sslrootcert=${certFile}`, '127.0.0.1')).toBe(true)
    // As with a wrong password, waiting would change nothing.
    const refused = (asked: Promise<unknown>) => asked.catch((error: unknown) => error)
    const selfSigned = await refused(ask('sslmode=verify-full'))
    expect(selfSigned).toBeInstanceOf(ConfigError)
    expect(String(selfSigned)).toMatch(
      /@localhost:\d+\/postgres has a self-signed certificate\. .*sslrootcert/,
    )
    const otherName = await refused(ask(`sslmode=verify-full&sslrootcert=${certFile}`, '127.0.0.1'))
    expect(otherName).toBeInstanceOf(ConfigError)
    expect(String(otherName)).toContain('has a certificate for another name')
    // The first of several may be one that is not meant, and the primary is away for a failover.
    const secureAt = `localhost:${secure.port}`
    const among = async (...hosts: string[]) => {
      const url = secure.url.replace(`127.0.0.1:${secure.port}`, hosts.join())
      const error = await openPostgresStore({ url: `${url}?sslmode=verify-full` }).catch((fault) => fault)
      return { isLasting: error instanceof ConfigError, message: String(error) }
    }
    for (const hosts of [
      [secureAt, 'localhost:1'],
      ['localhost:1', secureAt],
    ]) {
      const { isLasting, message } = await among(...hosts)
      expect(isLasting, message).toBe(false)
      expect(message).toContain(`${secureAt} has a self-signed certificate`)
      expect(message).toContain('localhost:1 refuses the connection')
    }
    expect(await among(secureAt, secureAt)).toMatchObject({ isLasting: true })
  } finally {
    await secure.stop()
    rmSync(folder, { recursive: true })
  }
  const without = openPostgresStore({ url: `${server.url}?sslmode=require` })
  await expect(without).rejects.toThrow(ConfigError)
  await expect(without).rejects.toThrow(/ does not speak TLS\. .*sslmode/)
})
