import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConfigError } from '../../errors.ts'
import { parsePostgresUrl } from './postgres-url.ts'

test('every part may contain special characters, and the label never contains the password', () => {
  const password = 'p@ss:w/rd?#% é'
  const text = `postgresql://us%40er:${encodeURIComponent(password)}@db.example:6543/my%2Fdb?pgbouncer=true`
  expect(parsePostgresUrl(text)).toEqual({
    host: 'db.example',
    port: 6543,
    user: 'us@er',
    password,
    database: 'my/db',
    tls: 'prefer',
    label: 'postgres://us@er@db.example:6543/my/db',
  })
})

test.each([
  ['postgres://me@db', { host: 'db', port: 5432, user: 'me', database: 'me', password: '' }],
  ['postgres://me@[::1]:1/x', { host: '::1', port: 1, database: 'x' }],
  ['postgres://me@localhost/x?host=/var/run/postgresql', { host: '/var/run/postgresql', tls: false }],
  ['postgres://me@%2Fvar%2Frun/x', { host: '/var/run', tls: false }],
  ['postgres://me@db/x?sslmode=disable', { tls: false }],
  ['postgres://me@db/x?sslmode=allow', { tls: 'prefer' }],
])('%s', (text, expected) => {
  expect(parsePostgresUrl(text)).toMatchObject(expected)
})

test('several hosts are a primary and its standbys, each with a port and a certificate of its own', () => {
  const text = 'postgres://me:p%2Cw@one:1,[::1]:2,three/x?sslmode=verify-full&target_session_attrs=any'
  expect(parsePostgresUrl(text)).toMatchObject({
    host: 'one',
    port: 1,
    tls: { servername: 'one' },
    others: [
      { host: '::1', port: 2, tls: { host: '::1' } },
      { host: 'three', port: 5432, tls: { servername: 'three' } },
    ],
    password: 'p,w',
    database: 'x',
    label: 'postgres://me@one:1,::1:2,three:5432/x',
  })
})

test('sslmode decides what is checked: nothing, the issuer, or the name too', () => {
  const tls = (query: string) => parsePostgresUrl(`postgres://me@db.example/x?${query}`).tls
  expect(tls('sslmode=require')).toMatchObject({ rejectUnauthorized: false, servername: 'db.example' })
  expect(tls('sslmode=verify-ca')).toMatchObject({
    rejectUnauthorized: true,
    checkServerIdentity: expect.any(Function),
  })
  expect(tls('sslmode=verify-full')).toEqual({
    host: 'db.example',
    servername: 'db.example',
    rejectUnauthorized: true,
  })
  const folder = mkdtempSync(join(tmpdir(), 'paystile-url-'))
  writeFileSync(join(folder, 'ca.pem'), 'the certificate')
  expect(tls(`sslmode=require&sslrootcert=${folder}/ca.pem`)).toMatchObject({
    rejectUnauthorized: true,
    ca: 'the certificate',
  })
  rmSync(folder, { recursive: true })
})

test.each([
  ['nonsense', 'is not a URL'],
  ['mysql://me:secret@db/x', 'starts with mysql://'],
  ['postgres://me:sec%ret@db/x', 'password with a stray %'],
  ['postgres://:secret@db/x', 'names no user'],
  ['postgres://me:secret@/x', ''],
  ['postgres://me:secret@one,two:99999/x', 'bad host or port after a comma'],
  ['postgres://me:secret@one,/x', 'bad host or port after a comma'],
  ['postgres://me:secret@db/x?sslmode=maybe', 'sslmode=maybe'],
  ['postgres://me:secret@db/x?sslmode=require&sslrootcert=/absent.pem', 'sslrootcert cannot be read'],
])('%s is refused by one line without the password', (text, fault) => {
  let error: unknown
  try {
    parsePostgresUrl(text)
  } catch (thrown) {
    error = thrown
  }
  expect(error).toBeInstanceOf(ConfigError)
  expect((error as Error).message).toContain(fault)
  expect((error as Error).message).not.toMatch(/secret|sec%ret|\n/)
})
