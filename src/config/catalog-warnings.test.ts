import { expect, test } from 'vitest'
import { catalogWarnings } from './catalog-warnings.ts'
import { optionsFromEnv } from './from-env.ts'
import { resolveConfig } from './resolve-config.ts'
import { variableWarnings } from './variable-fault.ts'

const catalog = (plans: Array<number | undefined>, routes: Array<number | undefined>) =>
  resolveConfig({
    walletAddress: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F',
    tokenSecret: 's'.repeat(32),
    plans: plans.map((credits, index) => ({ planId: `p${index}`, unitAmount: '$1.00', credits })),
    routes: routes.map((credits, index) => ({
      ...{ routeId: `r${index}`, method: 'GET', path: `/r${index}`, unitAmount: '$0.01', credits },
    })),
  })
const warningsOf = (...args: Parameters<typeof catalog>) => catalogWarnings(catalog(...args), (list) => list)

test('a catalog without credits, or whose credits can be spent, gets no warning', () => {
  expect(warningsOf([undefined], [undefined])).toEqual([])
  expect(warningsOf([50, 5], [undefined, 50, 1])).toEqual([])
})

test('a route that costs more credits than any plan grants is told', () => {
  expect(warningsOf([50], [51, 50])).toEqual([
    'routes[0] (r0) costs 51 credits, and no plan grants more than 50: one purchase does not pay for a call. Lower it, or let a plan grant more.',
  ])
})

test('a route that takes credits which nobody can have is told', () => {
  expect(warningsOf([undefined], [1])).toEqual([
    'routes[0] (r0) costs 1 credit, and no plan grants any: only those that were bought before can be spent. Give a plan credits, or take them out.',
  ])
})

test('a plan that grants fewer credits than any call costs is told, unless its routes are told already', () => {
  expect(warningsOf([1, 10, 4], [5, undefined, 10])).toEqual([
    'plans[0] (p0) grants 1 credit, and no route costs less than 5: one purchase does not pay for a call. Let it grant more, or lower a route.',
    'plans[2] (p2) grants 4 credits, and no route costs less than 5: one purchase does not pay for a call. Let it grant more, or lower a route.',
  ])
  expect(warningsOf([1], [5])).toHaveLength(1)
})

test('a plan whose credits buy nothing is told', () => {
  expect(warningsOf([undefined, 50], [undefined])).toEqual([
    'plans[1] (p1) grants 50 credits, and no route takes any: they buy nothing. Give a route credits, or take them out.',
  ])
})

test('the standalone server names its variables', () => {
  const config = { ...catalog([50], []), backend: { kind: 'embedded' as const } }
  expect(variableWarnings(config)[0]).toMatch(/^PLANS\[0\] \(p0\) grants 50 credits/)
})

test.each([
  [{ PROXY_TIMEOUT_SECONDS: '3' }, ['PROXY_TIMEOUT_SECONDS']],
  [{ PROXY_SECRET: 'hunter2', PROXY_TIMEOUT_SECONDS: '3' }, ['PROXY_SECRET', 'PROXY_TIMEOUT_SECONDS']],
])(
  'plans are sold without a backend, and a warning names what is for backends alone: %j',
  (change, names) => {
    const env = {
      SVC_WALLET_ADDRESS: `0x${'12'.repeat(20)}`,
      PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
      ROUTES: '[]',
      ISSUE_TOKEN_API: 'https://api.example.com/issue-token',
      RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
    }
    const { options, source } = optionsFromEnv({ ...env, ...change }, () => '')
    const config = resolveConfig(options, source)
    expect(config.backend).toMatchObject({ kind: 'embedded' })
    const why = 'has no effect without PROXY_TO_BASE_URL: set that as well, or take this out.'
    expect(variableWarnings(config)).toEqual(names.map((name) => `${name} ${why}`))
  },
)
