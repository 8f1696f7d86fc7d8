import { expect, test } from 'vitest'
import { checkConfig } from './resolve-config.ts'

test.each([
  [
    { tokenTtlSeconds: 'an hour' },
    'plans[0].tokenTtlSeconds is a text; it must be a number of seconds, for example tokenTtlSeconds: 3600.',
  ],
  [
    { unitAmount: '$1000000000000' },
    'plans[0].unitAmount "$1000000000000" must be at most $999999999999.999999, for example "$1.00".',
  ],
  [
    { tokenTtlSeconds: 400_000_000 },
    'plans[0].tokenTtlSeconds is 400000000; it may be at most 315360000 (10 years).',
  ],
])('a plan with %j is told what it may be', (change, fault) => {
  const plans = [{ planId: 'basic', unitAmount: '$1.00', ...change }] as never
  const walletAddress = '0x1111111111111111111111111111111111111111'
  const { faults } = checkConfig({ walletAddress, plans, tokenSecret: 's'.repeat(32) })
  expect(faults).toEqual([fault])
})
