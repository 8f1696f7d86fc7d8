import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import type { ChallengeRow } from '../../ports.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { auditEntry } from '../apply-event.ts'
import { createRetention, prune } from './retention.ts'

function delivered(key: string, change: Partial<ChallengeRow> = {}): ChallengeRow {
  return testChallenge({
    key,
    clientAgentId: 'agent',
    payer: PAYER,
    receipt: 'receipt',
    txHash: '0xab',
    paidAt: 1000,
    claimed: true,
    state: 'DELIVERED',
    result: 'x',
    dueAt: null,
    ...change,
  })
}

function open(retentionMs: number | undefined, nowMs: number) {
  const config = { ...(retentionMs !== undefined && { retentionMs }) }
  const { core, store } = testCore({ clock: createFakeClock(nowMs), config })
  const put = (row: ChallengeRow) => {
    const audit = [auditEntry(row, 'delivered', { at: 1000, actor: 'gateway' })]
    return store.commit({ puts: [{ table: 'challenges', row }], audit })
  }
  const get = async (key: string) => (await store.get('challenges', [key]))[0]!
  return { core, store, put, get }
}

test('the result and who called what are removed; the records of money stay', async () => {
  const { core, store, put, get } = open(5000, 6000)
  await put(delivered('a', { resource: { method: 'GET', path: '/patients/7' } }))
  const before = await get('a')
  await prune(core, before)
  const gone = { result: null, resource: null, clientAgentId: null, prunedAt: 6000, dueAt: null }
  expect(await get('a')).toEqual({ ...before, ...gone, version: before.version + 1 })
  expect((await store.audit('a')).map(({ event }) => event)).toEqual(['delivered', 'pruned'])
})

test('a row that was scheduled under another setting is rescheduled, or kept if retention is off', async () => {
  const longer = open(9000, 6000)
  await longer.put(delivered('a', { dueAt: 5000 }))
  await prune(longer.core, await longer.get('a'))
  expect(await longer.get('a')).toMatchObject({ result: 'x', dueAt: 10_000 })
  const off = open(undefined, 6000)
  await off.put(delivered('a', { dueAt: 5000 }))
  await prune(off.core, await off.get('a'))
  expect(await off.get('a')).toMatchObject({ result: 'x', dueAt: null })
})

test('sales from before retention was switched on are found in the log page by page, and scheduled once', async () => {
  const { core, put, get } = open(5000, 2000)
  for (let index = 0; index < 1200; index++) await put(delivered(`old-${index}`))
  await put(delivered('pruned', { result: null, prunedAt: 1 }))
  await put(delivered('paid', { state: 'PAID' }))
  const markOld = createRetention(core)
  await markOld()
  expect(await get('old-0')).toMatchObject({ dueAt: 6000, version: 2 })
  expect(await get('old-1199')).toMatchObject({ dueAt: null })
  for (let pass = 0; pass < 4; pass++) await markOld()
  expect(await get('old-1199')).toMatchObject({ dueAt: 6000, version: 2 })
  expect(await get('pruned')).toMatchObject({ dueAt: null, version: 1 })
  expect(await get('paid')).toMatchObject({ dueAt: null, version: 1 })
})
