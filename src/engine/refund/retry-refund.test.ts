import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { MAINNET, testRail } from '../../../test/engine/test-rail.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import type { ChallengeRow, RefundRow } from '../../ports.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { eventBody } from '../events/event-body.ts'
import { recordingEvents, waitingRef } from '../events/record-events.ts'
import { retryRefund } from './retry-refund.ts'

async function open(state: ChallengeRow['state'], refunds: Array<Partial<RefundRow>>) {
  const endpoint = { id: 'shop', url: 'https://shop.example/', events: null }
  const { core, rail, store } = testCore({
    clock: createFakeClock(7),
    store: recordingEvents(createMemoryStore(), [endpoint]),
  })
  const row = testChallenge({ key: 'http-1', requestId: 'r-1', state, dueAt: null })
  const base = {
    ...{ version: 0, ref: 'http-1', dueAt: null, challengeId: 'http-1', recipient: PAYER, value: '10' },
    ...{ rail: rail.id },
    ...{ auth: null, attempts: 5, fromHeight: 1, walletTx: null, txHash: null, reason: 'no funds' },
  } as const
  await store.commit({
    puts: [
      { table: 'challenges', row },
      ...refunds.map((refund) => {
        const whole = { key: 'k', movesState: true, phase: 'FAILED' as const, ...base, ...refund }
        return { table: 'refunds' as const, row: whole }
      }),
    ],
  })
  const told = async () => {
    const rows = await store.list('webhooks', waitingRef('shop', 'http-1'))
    return rows.map((event) => eventBody(event, row, () => ''))
  }
  return { store, told, retry: () => retryRefund(core, 'http-1') }
}

const waiting = { phase: 'WAITING', attempts: 0, reason: null, dueAt: 7 }

test('a surplus whose refund failed is tried again, and its challenge does not change', async () => {
  const { store, retry } = await open('DELIVERED', [{ key: 'surplus', movesState: false }])
  expect(await retry()).toMatchObject({ state: 'DELIVERED' })
  expect(await store.list('refunds', 'http-1')).toMatchObject([waiting])
  expect(await store.get('challenges', ['http-1'])).toMatchObject([{ version: 1 }])
  expect(await store.audit('http-1')).toMatchObject([{ event: 'surplus-refund-retried', actor: 'operator' }])
  expect(await retry(), 'nothing failed any more').toMatchObject({ code: 'INVALID_REQUEST' })
})

test('a refund on a network that is not configured is not retried: nobody would send it', async () => {
  const { store, retry } = await open('REFUND_FAILED', [{ rail: testRail({ network: MAINNET }).id }])
  expect(await retry()).toMatchObject({
    code: 'INVALID_REQUEST',
    message: expect.stringContaining(MAINNET.id),
  })
  expect(await store.list('refunds', 'http-1')).toMatchObject([{ phase: 'FAILED' }])
})

test('all failed refunds are retried in one step; paid ones stay as they are', async () => {
  const { store, retry } = await open('REFUND_FAILED', [
    { key: 'own' },
    { key: 'paid', movesState: false, phase: 'DONE' },
    { key: 'surplus', movesState: false },
  ])
  expect(await retry()).toMatchObject({ state: 'REFUND_PENDING' })
  expect(await store.list('refunds', 'http-1')).toMatchObject([
    waiting,
    { phase: 'DONE', attempts: 5 },
    waiting,
  ])
  const events = (await store.audit('http-1')).map(({ event }) => event)
  expect(events.sort()).toEqual(['refund-retried', 'surplus-refund-retried'])
})

test('the seller is told of every refund that is retried, and what a surplus returns', async () => {
  const { told, retry } = await open('REFUND_FAILED', [
    { key: 'own' },
    { key: 'surplus', movesState: false },
    { key: 'another', movesState: false },
  ])
  await retry()
  const events = await told()
  expect(events.map(({ type }) => type)).toEqual(Array(3).fill('refund.pending'))
  const surplus = { of: 'surplus', value: '10' }
  const refunds = events.map(({ data }) => data.refund as typeof surplus)
  expect(refunds.sort((one, other) => (one.of < other.of ? -1 : 1))).toEqual([
    { of: 'payment' },
    surplus,
    surplus,
  ])
})
