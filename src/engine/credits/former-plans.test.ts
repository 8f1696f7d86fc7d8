import { expect, test } from 'vitest'
import { PAYER } from '../../../test/engine/test-rows.ts'
import type { CreditRow } from '../../ports.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { accountOf } from '../ownership/lots.ts'
import { rememberCreditPlans } from './former-plans.ts'

const CALLS = { planId: 'calls', credits: 10 }
const PLAIN = { planId: 'plain' }

test('a plan that once granted credits is remembered, also as one that is sold without them', async () => {
  const store = createMemoryStore()
  expect(await rememberCreditPlans(store, [PLAIN])).toEqual([])
  expect(await rememberCreditPlans(store, [CALLS, PLAIN])).toEqual([])
  expect(await rememberCreditPlans(store, [CALLS])).toEqual([])
  expect(await rememberCreditPlans(store, [])).toEqual(['calls'])
  expect(await rememberCreditPlans(store, [{ planId: 'calls' }])).toEqual(['calls'])
  expect(await rememberCreditPlans(store, [{ planId: 'other', credits: 1 }])).toEqual(['calls'])
  expect(await rememberCreditPlans(store, [CALLS])).toEqual(['other'])
})

test('plans of purchases from before any was remembered are found in the store', async () => {
  const store = createMemoryStore()
  const bought = (key: string, planId: string): CreditRow => ({
    ...{ key, version: 0, ref: accountOf(PAYER, planId, 'default'), dueAt: 1, granted: 1, spent: 0 },
    ...{ reserved: [], expiresAt: 1, network: null, paidOn: 'eip155:1', txHash: '0x1', requestId: key },
  })
  for (const [key, planId] of [
    ['a', 'old'],
    ['b', 'calls'],
    ['c', 'old'],
  ] as const) {
    await store.commit({ puts: [{ table: 'credits', row: bought(key, planId) }] })
  }
  expect(await rememberCreditPlans(store, [CALLS])).toEqual(['old'])
  expect(await rememberCreditPlans(store, [])).toEqual(['calls', 'old'])
})
