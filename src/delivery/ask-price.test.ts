import { expect, test } from 'vitest'
import type { Route } from '../protocol/catalog.ts'
import type { PricedCall } from '../protocol/computed-price.ts'
import { createPriceService } from './ask-price.ts'

function priced(unitAmount: Route['unitAmount']): Route {
  return { routeId: 'r', method: 'POST', path: '/r/:kind', maxAmount: '$1.00', unitAmount }
}

test('a function is told what is called, without the query in the path', async () => {
  const asked: PricedCall[] = []
  const { ask, close } = createPriceService([
    priced((call) => {
      asked.push(call)
      return '$0.01'
    }),
  ])
  const body = Buffer.from('{}')
  expect(await ask('r', { method: 'POST', path: '/r/a%20b?x=1&y=2&y=3&__proto__=4', body })).toBe('$0.01')
  await ask('r', { method: 'POST', path: '/r/c', body: null })
  const query = Object.fromEntries([
    ['x', '1'],
    ['y', ['2', '3']],
    ['__proto__', '4'],
  ])
  const common = { routeId: 'r', method: 'POST' }
  expect(asked).toEqual([
    { ...common, path: '/r/a%20b', params: { kind: 'a b' }, query, body },
    { ...common, path: '/r/c', params: { kind: 'c' }, query: {} },
  ])
  await close()
})

test('a name that comes again and again costs no more than others', async () => {
  const { ask, close } = createPriceService([priced(({ query }) => `$0.0${query.a?.length}`.slice(0, 5))])
  const startedMs = performance.now()
  const path = `/r/a?${'a&'.repeat(32_000)}`
  expect(await ask('r', { method: 'POST', path, body: null })).toBe('$0.03')
  expect(performance.now() - startedMs).toBeLessThan(2_000)
  await close()
})

test('a function that takes too long, throws or rejects has no price', async () => {
  const call = { method: 'POST', path: '/r/a', body: null }
  const reasonOf = async (unitAmount: Route['unitAmount']) => {
    const { ask, close } = createPriceService([priced(unitAmount)], 20)
    const reason = await ask('r', call).then(
      () => 'none',
      (error: Error) => error.message,
    )
    await close()
    return reason
  }
  expect(await reasonOf(() => new Promise(() => undefined))).toBe('the function said no price within 0.02 s')
  expect(await reasonOf(() => Promise.reject(new Error('no rates')))).toBe('no rates')
  const thrown = () => {
    throw new Error('no table')
  }
  expect(await reasonOf(thrown)).toBe('no table')
})
