import { expect, test } from 'vitest'
import type { ChallengeRow } from '../ports.ts'
import { NETWORKS } from '../protocol/network.ts'
import { newChallenge, termsOf } from '../rules/terms.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { auditEntry } from './apply-event.ts'
import type { Core } from './core.ts'
import { createRetention, prune } from './retention.ts'
import { createSignals } from './signals.ts'

const payer = `0x${'aa'.repeat(20)}` as const
const network = NETWORKS[1]!
const price = { amount: '10', asset: network.asset, network: network.id, payTo: payer }
const plan = { kind: 'plan', planId: 'basic', resourceId: 'default' } as const

function delivered(key: string, change: Partial<ChallengeRow> = {}): ChallengeRow {
  const made = { key, transport: 'http' as const, createdAt: 0, expiresAt: 1, clientAgentId: 'agent' }
  const paid = { payer, receipt: 'receipt', txHash: '0xab', paidAt: 1000, claimed: true } as const
  return {
    ...newChallenge(termsOf(plan, price, key), made),
    ...paid,
    state: 'DELIVERED',
    result: 'x',
    dueAt: null,
    ...change,
  }
}

function open(retentionMs: number | undefined, nowMs: number) {
  const store = createMemoryStore()
  const core = {
    store,
    signals: createSignals(),
    clock: { now: () => nowMs },
    alerts: { raise: () => undefined },
    config: { ...(retentionMs !== undefined && { retentionMs }) },
  } as unknown as Core
  const put = (row: ChallengeRow) => {
    const audit = [auditEntry(row, 'delivered', { at: 1000, actor: 'gateway' })]
    return store.commit({ puts: [{ table: 'challenges', row }], audit })
  }
  const get = async (key: string) => (await store.get('challenges', [key]))[0]!
  return { core, store, put, get }
}

test('the result and who called what go; whatever says that money moved stays', async () => {
  const { core, store, put, get } = open(5000, 6000)
  await put(delivered('a', { resource: { method: 'GET', path: '/patients/7' } }))
  const before = await get('a')
  await prune(core, before)
  const gone = { result: null, resource: null, clientAgentId: null, prunedAt: 6000, dueAt: null }
  expect(await get('a')).toEqual({ ...before, ...gone, version: before.version + 1 })
  expect((await store.audit('a')).map(({ event }) => event)).toEqual(['delivered', 'pruned'])
})

test('a row that was marked under another setting is marked anew, or left alone', async () => {
  const longer = open(9000, 6000)
  await longer.put(delivered('a', { dueAt: 5000 }))
  await prune(longer.core, await longer.get('a'))
  expect(await longer.get('a')).toMatchObject({ result: 'x', dueAt: 10_000 })
  const off = open(undefined, 6000)
  await off.put(delivered('a', { dueAt: 5000 }))
  await prune(off.core, await off.get('a'))
  expect(await off.get('a')).toMatchObject({ result: 'x', dueAt: null })
})

test('what was sold before retention was switched on is found in the log, page by page, and marked once', async () => {
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
