import { expect, test } from 'vitest'
import { RouteSchema } from './catalog.ts'

const route = {
  ...{ routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02', raw: true },
  stream: { maxUnpaidPerPayer: '$0.10', maxUnpaid: '$5.00' },
}

const faultsOf = (given: object): string =>
  RouteSchema.safeParse(given)
    .error?.issues.map(({ message }) => message)
    .join(' ') ?? ''

test('a metered route may stream within limits', () => {
  expect(faultsOf(route)).toBe('')
})

test.each<[string, object, string]>([
  [
    'a fixed price',
    { ...route, scheme: undefined, maxAmount: undefined, unitAmount: '$0.01' },
    'has stream, but only metered',
  ],
  ['wrapped answers', { ...route, raw: false }, 'say raw: true'],
  [
    'less than one call',
    { ...route, stream: { ...route.stream, maxUnpaidPerPayer: '$0.01' } },
    'less than the $0.02 of one call',
  ],
  [
    'less than one payer',
    { ...route, stream: { ...route.stream, maxUnpaid: '$0.05' } },
    'less than the $0.10 of one payer',
  ],
  ['no price', { ...route, stream: { ...route.stream, maxUnpaid: 'much' } }, 'must start with "$"'],
  ['an unknown member', { ...route, stream: { ...route.stream, perDay: '$1' } }, 'perDay'],
  ['half a rule', { ...route, stream: { maxUnpaid: '$5.00' } }, ''],
])('refused: a stream with %s', (_, given, words) => {
  expect(RouteSchema.safeParse(given).success).toBe(false)
  expect(faultsOf(given)).toContain(words)
})
