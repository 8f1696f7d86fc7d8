import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import { deliverRoute } from './deliver-route.ts'

test('where nobody answers a paid call any more, its buyer is told of the refund, and no lease is taken', async () => {
  const { core } = testCore()
  const paid = { state: 'PAID', payer: PAYER, txHash: '0xab', paidAt: 1000, kind: 'route' } as const
  const challenge = testChallenge({ key: 'c', ...paid })
  await core.store.commit({ puts: [{ table: 'challenges', row: challenge }] })
  const [stored] = await core.store.get('challenges', ['c'])
  const call = { method: 'GET', path: '/gone', headers: {}, body: null }
  expect(await deliverRoute(core, stored!, { kind: 'backend', call })).toMatchObject({
    kind: 'failed',
    error: { code: 'DELIVERY_FAILED', details: { challengeId: 'c', refund: { state: 'SCHEDULED' } } },
    settled: { txHash: '0xab' },
  })
  expect(await core.store.get('challenges', ['c'])).toEqual([stored])
})
