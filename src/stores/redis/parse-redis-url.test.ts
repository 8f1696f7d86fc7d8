import { expect, test } from 'vitest'
import { ConfigError } from '../../errors.ts'
import { parseRedisUrl } from './parse-redis-url.ts'

const plain = { host: 'localhost', port: 6379, db: 0, tls: false, label: 'redis at localhost' }

test.each([
  ['redis://localhost', plain],
  ['redis://localhost/', plain],
  ['redis://localhost:6380/12', { ...plain, port: 6380, db: 12, label: 'redis at localhost:6380' }],
  ['rediss://localhost', { ...plain, tls: true }],
  ['redis://:a%3Ab%40c@localhost', { ...plain, password: 'a:b@c' }],
  [
    'redis://ann:pw:with:colons@localhost/1',
    { ...plain, db: 1, username: 'ann', password: 'pw:with:colons' },
  ],
  ['redis://secret@localhost', { ...plain, password: 'secret' }],
  ['redis://localhost?family=6', plain],
  ['redis://[::1]:7000', { ...plain, host: '::1', port: 7000, label: 'redis at [::1]:7000' }],
])('%s', (url, expected) => {
  expect(parseRedisUrl(url)).toEqual(expected)
})

test('Sentinel: several hosts, the name of the master, a database', () => {
  const url = 'rediss+sentinel://ann:pw@one:26380,two/my%20master/3?sentinelPassword=s%26t'
  expect(parseRedisUrl(url)).toEqual({
    sentinels: [
      { host: 'one', port: 26380 },
      { host: 'two', port: 26379 },
    ],
    name: 'my master',
    sentinelPassword: 's&t',
    username: 'ann',
    password: 'pw',
    db: 3,
    tls: true,
    label: 'redis at one:26380,two, master my master',
  })
})

test('a cluster: some of its nodes', () => {
  expect(parseRedisUrl('redis+cluster://ann:pw@one:7000,two')).toEqual({
    ...plain,
    host: 'one',
    port: 7000,
    cluster: [
      { host: 'one', port: 7000 },
      { host: 'two', port: 6379 },
    ],
    username: 'ann',
    password: 'pw',
    label: 'redis at one:7000,two',
  })
})

test.each([
  '',
  'localhost:6379',
  'http://localhost',
  'redis://',
  'redis://:s3cret@',
  'redis://:s3cret@localhost:99999',
  'redis://:s3cret@localhost:port',
  'redis://:s3cret@localhost/zero',
  'redis://:s3cret@localhost/0/1',
  'redis://:s3cret@one,two',
  'redis://:s3cret%@localhost',
  'redis+sentinel://:s3cret@one,two',
  'redis://:s3cret@local@host',
  'redis+cluster://:s3cret@one,two/1',
  'redis+ring://:s3cret@one,two',
])('%j is refused with an example and without its secret', (url) => {
  const error = catchError(() => parseRedisUrl(url))
  expect(error).toBeInstanceOf(ConfigError)
  expect(String(error)).toMatch(/Expected e\.g\. redis/)
  expect(String(error)).not.toContain('s3cret')
})

function catchError(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
