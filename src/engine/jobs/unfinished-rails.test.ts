import { expect, test } from 'vitest'
import { MAINNET, testRail } from '../../../test/engine/test-rail.ts'
import type { AuditEntry, Put, TableName } from '../../ports.ts'
import { DUE_REF, dueKey } from '../../rules/sales-book.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { samplePut, sampleRow } from '../../testing/store-rows.ts'
import { newHead } from '../books/book-page.ts'
import { unfinishedRails } from './unfinished-rails.ts'

const here = testRail()
const gone = testRail({ network: MAINNET })
const due = { dueAt: 5 }

const sampleOn =
  (rail: string) =>
  (table: TableName, key: string, change: object): Put =>
    samplePut(table, { ...sampleRow(table, { key, ref: null, ...due }), ...{ rail }, ...change })

async function storeWith(rail: string, chainId: number) {
  const store = createMemoryStore()
  const sample = sampleOn(rail)
  await store.commit({
    puts: [
      sample('authorizations', 'a', { phase: 'BROADCAST' }),
      sample('authorizations', 'b', { phase: 'ABANDONED' }),
      sample('authorizations', 'c', { phase: 'RELEASED' }),
      sample('authorizations', 'e', { phase: 'CHARGED' }),
      sample('authorizations', 'd', { phase: 'CONFIRMED', dueAt: null }),
      sample('receipts', 'a', { finalized: false, lost: false }),
      sample('receipts', 'b', { finalized: true, lost: false, dueAt: null }),
      sample('refunds', 'a', { phase: 'WAITING' }),
      sample('refunds', 'b', { phase: 'DONE', dueAt: null }),
      sample('challenges', 'a', { state: 'PAID' }),
      sample('challenges', 'b', { state: 'DELIVERED' }),
      sample('walletTxs', 'a', { chainId, phase: 'SENT' }),
      sample('walletTxs', 'b', { chainId, phase: 'MINED', dueAt: null }),
    ],
  })
  return store
}

test('a rail that is not configured is named with what it has left to do, and nothing is changed', async () => {
  const store = await storeWith(gone.id, MAINNET.chainId)
  const left = { payments: 3, receipts: 1, refunds: 1, failedRefunds: [], transactions: 1, sales: 1 }
  const found = [{ rail: gone.id, network: MAINNET.id, ...left }]
  expect(await unfinishedRails(store, new Set([here.id]))).toEqual(found)
  expect(await unfinishedRails(store, new Set([here.id]))).toEqual(found)
  expect((await store.get('authorizations', ['a']))[0]).toMatchObject({ version: 1, ...due })
  expect(await unfinishedRails(store, new Set([here.id, gone.id]))).toEqual([])
})

test('a transaction of a wallet alone names its network', async () => {
  const store = await storeWith(here.id, MAINNET.chainId)
  expect(await unfinishedRails(store, new Set([here.id]))).toMatchObject([
    { rail: MAINNET.id, network: MAINNET.id, transactions: 1, payments: 0 },
  ])
})

test('thousands of other rows hide nothing, and a store that cannot list what is due has none', async () => {
  const store = await storeWith(gone.id, MAINNET.chainId)
  const others = Array.from({ length: 1_200 }, (_, index) =>
    sampleOn(here.id)('receipts', `other-${index}`, { dueAt: 1 }),
  )
  await store.commit({ puts: others })
  expect(await unfinishedRails(store, new Set([here.id]))).toMatchObject([{ receipts: 1 }])
  const { listDue: _, ...unlisted } = store
  expect(await unfinishedRails(unlisted, new Set([here.id]))).toEqual([])
})

test('a refund that failed is not finished, whether the sales book has it yet or only the log', async () => {
  const store = createMemoryStore()
  const refund = (challengeId: string, phase: string) =>
    sampleOn(gone.id)('refunds', `of-${challengeId}`, { ref: challengeId, challengeId, phase, dueAt: null })
  const failed = (challengeId: string): AuditEntry => ({
    ...{ at: 1, challengeId, requestId: 'r', event: 'refund-failed', actor: 'gateway' },
    ...{ fromState: 'REFUND_PENDING', toState: 'REFUND_FAILED' },
  })
  await store.commit({ puts: [refund('booked', 'FAILED')], audit: [failed('booked')] })
  const [first] = await store.log(0, 1)
  const base = { version: 0, ref: null, dueAt: null }
  const due = { kind: 'due', challengeId: 'booked', refundSince: 1, surplus: null } as const
  const head = { ...newHead(), seq: first!.seq }
  await store.commit({
    puts: [
      { table: 'books', row: { ...base, key: dueKey('booked'), ref: DUE_REF, ...due } },
      { table: 'books', row: head },
      refund('logged', 'FAILED'),
      refund('resolved', 'DONE'),
    ],
    audit: [failed('logged'), failed('resolved')],
  })
  expect(await unfinishedRails(store, new Set([here.id]))).toMatchObject([
    { rail: gone.id, network: MAINNET.id, refunds: 0, failedRefunds: ['booked', 'logged'] },
  ])
  expect(await unfinishedRails(store, new Set([gone.id]))).toEqual([])
})
