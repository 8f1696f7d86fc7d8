import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import type { Route } from '../../protocol/catalog.ts'
import { buildCatalog } from '../../rules/catalog.ts'
import type { Intent } from '../outcome.ts'
import { offerTerms, openChallenge } from './open-challenge.ts'

const ROUTE: Route = { routeId: 'r', method: 'GET', path: '/r', maxAmount: '$1.00', priceFrom: 'http://p' }
const call = { method: 'GET', path: '/r?x=1', headers: { cookie: 'not for the price' }, body: null }
const intent: Intent = { transport: 'http', routeId: 'r', call }

function shop(answer: () => unknown) {
  const asked: unknown[] = []
  const { core, alerts } = testCore({
    config: { catalog: buildCatalog([], [ROUTE]) },
    askPrice: async (...args) => {
      asked.push(args)
      return answer()
    },
  })
  const open = (more: Partial<Intent> = {}) => openChallenge(core, { ...intent, ...more })
  return { core, alerts, asked, open }
}

test('a computed price is asked before an offer, which is not stored unless the buyer named it', async () => {
  let price = '$0.25'
  const { core, asked, open } = shop(() => price)
  expect(offerTerms(core, intent)).toBeUndefined()
  expect(await open()).toMatchObject({ kind: 'challenge', offer: { rails: [{ amount: '250000' }] } })
  expect(asked).toEqual([['r', { method: 'GET', path: '/r?x=1', body: null }]])
  expect(await open({ requestId: 'one' })).toMatchObject({ offer: { rails: [{ amount: '250000' }] } })
  price = '$0.75'
  expect(await open({ requestId: 'one' })).toMatchObject({ offer: { rails: [{ amount: '250000' }] } })
  expect(asked.length).toBe(2)
  expect(await open({ requestId: 'two' })).toMatchObject({ offer: { rails: [{ amount: '750000' }] } })
})

test.each([
  '',
  '0',
  '$0',
  '$-1',
  '1.00',
  '$1e3',
  '$0.0000001',
  1,
  0,
  null,
  undefined,
  {},
  ['$1.00'],
  Number.NaN,
])('the price %j sells nothing, and the seller is told once an hour', async (price) => {
  const { alerts, open } = shop(() => price)
  for (const requestId of ['one', undefined, 'two']) {
    const outcome = await open(requestId === undefined ? {} : { requestId })
    if (outcome.kind !== 'failed') throw new Error('sold')
    expect(outcome.error).toMatchObject({ code: 'PRICE_UNAVAILABLE', details: { retryAfterSeconds: 5 } })
    expect(outcome.offer).toBeUndefined()
  }
  expect(alerts.map(({ kind }) => kind)).toEqual(['price-refused'])
})

test('the most may be asked, and a millionth more is refused', async () => {
  let price = '$1.00'
  const { alerts, open } = shop(() => price)
  expect(await open()).toMatchObject({ offer: { rails: [{ amount: '1000000' }] } })
  price = '$1.000001'
  expect(await open()).toMatchObject({ kind: 'failed', error: { code: 'PRICE_TOO_HIGH' } })
  expect(alerts).toEqual([
    {
      kind: 'price-refused',
      message: 'route r is not sold, because the price $1.000001 of a call is above its maxAmount $1.00',
    },
  ])
})

test('buyers do not read why a price cannot be had', async () => {
  const { alerts, open } = shop(() => {
    throw new Error('connect ECONNREFUSED 10.0.0.7')
  })
  const outcome = await open()
  expect(JSON.stringify(outcome.kind === 'failed' && outcome.error.toBody())).not.toContain('10.0.0.7')
  expect(alerts[0]!.message).toContain('10.0.0.7')
})
