import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testPayment } from '../../../test/engine/test-payment.ts'
import type { Route } from '../../protocol/catalog.ts'
import { buildCatalog, findSubject } from '../../rules/catalog.ts'
import { putChallenge } from '../apply-event.ts'
import { commit } from '../core.ts'
import type { Intent } from '../outcome.ts'
import { findChallenge } from './find-challenge.ts'
import { draftChallenge, offerTerms, openChallenge, requestPointer } from './open-challenge.ts'

const fixed: Route = { routeId: 'r', method: 'GET', path: '/r', unitAmount: '$1.00' }
const computed: Route = { routeId: 'c', method: 'GET', path: '/c', maxAmount: '$1.00', priceFrom: 'http://p' }
const shop = () =>
  testCore({ config: { catalog: buildCatalog([], [fixed, computed]) }, askPrice: async () => '$1.00' })
const asking = (routeId: string, query: string, more: Partial<Intent> = {}): Intent => ({
  ...{ transport: 'http', routeId, ...more },
  call: { method: 'GET', path: `/${routeId}?${query}`, headers: {}, body: null },
})
const ask = async (intent: Intent) => {
  const { core } = shop()
  return offerTerms(core, intent) ?? (await openChallenge(core, intent))
}

const LONGEST = 'x'.repeat(4096 - '/r?'.length)

test.each<[string, string, Partial<Intent>]>([
  ['a fixed price', 'r', {}],
  ['a computed price', 'c', {}],
  ['a requestId', 'r', { requestId: 'one' }],
  ['A2A', 'r', { transport: 'a2a' }],
  ['MCP', 'r', { transport: 'mcp' }],
])(
  'a call of %s whose path and query are longer than 4096 characters is not offered',
  async (_, id, more) => {
    expect(await ask(asking(id, LONGEST, more))).toMatchObject({ kind: 'challenge' })
    expect(await ask(asking(id, `${LONGEST}x`, more))).toMatchObject({
      kind: 'failed',
      error: { code: 'INVALID_REQUEST', message: expect.stringMatching(/have 4097 characters.* 4096/) },
    })
  },
)

test('a backslash in the query counts as two, as in the JSON of a payment', async () => {
  expect(await ask(asking('r', '\\'.repeat(2046)))).toMatchObject({ kind: 'challenge' })
  expect(await ask(asking('r', '\\'.repeat(2047)))).toMatchObject({ error: { code: 'INVALID_REQUEST' } })
})

test('a longer call that was offered before is still paid, and named again', async () => {
  const { core } = shop()
  const intent = asking('r', 'x'.repeat(5000), { requestId: 'r-1' })
  const sold = findSubject(core.config.catalog, intent)
  if (sold instanceof Error) throw sold
  const draft = draftChallenge(core, intent, sold.subject, sold.item, 'r-1')
  const echo = { routeId: 'r', challengeId: draft.key, requestId: 'r-1' }
  const paying = { ...intent, payment: testPayment({ echo }) }
  expect(await findChallenge(core, paying, false)).toMatchObject({ kind: 'open' })
  await commit(core, { puts: [putChallenge(draft), requestPointer(draft)], audit: [] })
  expect(await findChallenge(core, paying, false)).toMatchObject({ kind: 'open' })
  expect(await openChallenge(core, intent)).toMatchObject({ offer: { challengeId: draft.key } })
})
