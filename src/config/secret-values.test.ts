import { expect, test } from 'vitest'
import type { GatewayOptions } from './options.ts'
import { resolveConfig } from './resolve-config.ts'
import { secretValues } from './secret-values.ts'

const key = (digit: string) => `0x${digit.repeat(64)}`
const options: GatewayOptions = {
  walletAddress: `0x${'11'.repeat(20)}`,
  plans: [{ planId: 'basic', unitAmount: '$1.00' }],
  issueTokenApi: 'https://tokens.example/issue?token=t0ken1',
  issueTokenApiSecret: 'api-secret',
  gasWalletPrivateKey: [key('1'), key('2')],
  refundWalletPrivateKey: key('3'),
  rpcUrl: 'https://rpc.example/v2/an-rpc-key-of-the-seller',
  databaseUrl: 'postgres://shop:p%40ssword@db/shop?sslmode=require',
  secretKey: 'ab'.repeat(32),
}

test('lists every secret of a configuration, with and without prefixes and escapes, and no common word', () => {
  const secrets = secretValues(resolveConfig(options))
  expect(secrets).toEqual(
    expect.arrayContaining([
      ...['1', '2', '3'].flatMap((digit) => [key(digit), key(digit).slice(2)]),
      ...['api-secret', 't0ken1', 'an-rpc-key-of-the-seller', 'p%40ssword', 'p@ssword', 'ab'.repeat(32)],
    ]),
  )
  for (const word of ['require', 'shop', 'v2', 'issue', '']) expect(secrets).not.toContain(word)
})

test('a password equal to the user name is left out, and one that cannot be decoded causes no error', () => {
  const same = { ...options, databaseUrl: 'postgres://paystile:paystile@db/x' }
  expect(secretValues(resolveConfig(same))).not.toContain('paystile')
  const broken = { ...options, databaseUrl: 'postgres://shop:100%25%zz@db/x' }
  expect(() => secretValues(resolveConfig(broken))).not.toThrow()
})

test.each([
  'postgres://shop:s3cret-word@one:5432,two:5432/shop',
  'redis+sentinel://shop:s3cret-word@one:26379,two:26379/master/0',
  'redis+cluster://shop:s3cret-word@one:6379,two:6379',
])('%s: the password is listed although a URL has one host', (url) => {
  const { databaseUrl: _, ...rest } = options
  const place = url.startsWith('postgres') ? { databaseUrl: url } : { redisUrl: url }
  expect(secretValues(resolveConfig({ ...rest, ...place }))).toContain('s3cret-word')
})
