import { expect, test } from 'vitest'
import type { ChallengeRow, RefundRow } from '../ports.ts'
import { NETWORKS } from '../protocol/network.ts'
import { newChallenge, termsOf } from '../rules/terms.ts'
import { createMemoryStore } from '../stores/memory.ts'
import type { Core } from './core.ts'
import { retryRefund } from './retry-refund.ts'
import { createSignals } from './signals.ts'

const payer = `0x${'aa'.repeat(20)}` as const
const network = NETWORKS[1]!
const price = { amount: '10', asset: network.asset, network: network.id, payTo: payer }
const plan = { kind: 'plan', planId: 'basic', resourceId: 'default' } as const

async function open(state: ChallengeRow['state'], refunds: Array<Partial<RefundRow>>) {
  const store = createMemoryStore()
  const core = { store, signals: createSignals(), clock: { now: () => 7 } } as unknown as Core
  const made = { key: 'http-1', transport: 'http' as const, createdAt: 0, expiresAt: 1, clientAgentId: null }
  const row: ChallengeRow = { ...newChallenge(termsOf(plan, price, 'r-1'), made), state, dueAt: null }
  const base = {
    ...{ version: 0, ref: 'http-1', dueAt: null, challengeId: 'http-1', recipient: payer, value: '10' },
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
  return { store, retry: () => retryRefund(core, 'http-1') }
}

const waiting = { phase: 'WAITING', attempts: 0, reason: null, dueAt: 7 }

test('a surplus that could not go back is tried again, and its challenge is not disturbed', async () => {
  const { store, retry } = await open('DELIVERED', [{ key: 'surplus', movesState: false }])
  expect(await retry()).toMatchObject({ state: 'DELIVERED' })
  expect(await store.list('refunds', 'http-1')).toMatchObject([waiting])
  expect(await store.get('challenges', ['http-1'])).toMatchObject([{ version: 1 }])
  expect(await store.audit('http-1')).toMatchObject([{ event: 'surplus-refund-retried', actor: 'operator' }])
  expect(await retry(), 'nothing failed any more').toMatchObject({ code: 'INVALID_REQUEST' })
})

test('all that failed goes in one step; what was paid stays', async () => {
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
