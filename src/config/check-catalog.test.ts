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
    'plans[0].tokenTtlSeconds is 400000000; it may be at most 315360000 (10 years), for example tokenTtlSeconds: 3600.',
  ],
])('a plan with %j is told what it may be', (change, fault) => {
  const plans = [{ planId: 'basic', unitAmount: '$1.00', ...change }] as never
  const walletAddress = '0x1111111111111111111111111111111111111111'
  const { faults } = checkConfig({ walletAddress, plans, tokenSecret: 's'.repeat(32) })
  expect(faults).toEqual([fault])
})

test.each([
  [{ charge: 'tokens' }, '.charge is a text; it must be an object, for example charge: {"per":'],
  [
    { charge: { per: '/usage/total_tokens' } },
    '.charge.unitAmount is missing; for example charge: {"per":"/usage/total_tokens","unitAmount":"$0.000002"}.',
  ],
  [
    { charge: { per: 'usage', unitAmount: '$0.01' } },
    '.charge.per "usage" must be a JSON pointer such as "/usage/total_tokens".',
  ],
  [{ charge: { per: 7, unitAmount: '$0.01' } }, '.charge.per is a number; it must be a text as in charge: {'],
  [
    { charge: { per: '/n', unitAmount: '$0.01', price: '$1' } },
    '.charge has an unknown member "price"; it has per and unitAmount.',
  ],
  [
    { raw: true, stream: { maxUnpaidPerPayer: '$0.10', maxUnpaid: '5 dollars' } },
    '.stream.maxUnpaid "5 dollars" must start with "$", for example "$1.00".',
  ],
  [{ raw: true, stream: {} }, '.stream.maxUnpaidPerPayer is missing; for example stream: {'],
])('a metered route with %j is told which part is wrong', (change, fault) => {
  const chat = { routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' }
  const walletAddress = '0x1111111111111111111111111111111111111111'
  const { faults } = checkConfig({ walletAddress, routes: [{ ...chat, ...change }] as never })
  expect(faults.join('\n')).toContain(`routes[0]${fault}`)
})
