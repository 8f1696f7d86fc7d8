import { expect, test } from 'vitest'
import { PAYER } from '../../../test/engine/test-rows.ts'
import type { CreditRow, Step } from '../../ports.ts'
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

/** A store with purchases of an earlier version, which remembered nothing. */
async function soldBefore() {
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
  return store
}

test('plans of purchases from before any was remembered are found in the store', async () => {
  const store = await soldBefore()
  expect(await rememberCreditPlans(store, [CALLS])).toEqual(['old'])
  expect(await rememberCreditPlans(store, [])).toEqual(['calls', 'old'])
})

test('they are found also after a start that was cut short, or that remembered only what is sold', async () => {
  const store = await soldBefore()
  let commits = 0
  const failing = async (step: Step) => {
    if (++commits === 2) throw new Error('down')
    return store.commit(step)
  }
  await rememberCreditPlans({ ...store, commit: failing }, [CALLS]).catch(() => {})
  expect(await rememberCreditPlans(store, [CALLS])).toEqual(['old'])

  const half = await soldBefore()
  const row = { key: 'credit-plan/calls', version: 0, ref: 'credit-plans', dueAt: null, value: 1 }
  await half.commit({ puts: [{ table: 'marks', row }] })
  expect(await rememberCreditPlans(half, [CALLS])).toEqual(['old'])
})

test('of instances that start together each knows all of them', async () => {
  const store = await soldBefore()
  const second: string[][] = []
  const commit = async (step: Step) => {
    const result = await store.commit(step)
    second.push(await rememberCreditPlans(store, [CALLS]))
    return result
  }
  expect(await rememberCreditPlans({ ...store, commit }, [CALLS])).toEqual(['old'])
  expect(second[0], 'after the first step of the other').toEqual(['old'])

  const other = await soldBefore()
  const listDue: typeof other.listDue = async (table, offset, limit) => {
    await rememberCreditPlans(other, [CALLS, { planId: 'new', credits: 1 }])
    return other.listDue!(table, offset, limit)
  }
  expect(await rememberCreditPlans({ ...other, listDue }, [CALLS]), 'the other was first').toEqual([
    'new',
    'old',
  ])
})
