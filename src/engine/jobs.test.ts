import { expect, test } from 'vitest'
import type { ChallengeRow } from '../ports.ts'
import { NETWORKS } from '../protocol/network.ts'
import { newChallenge, termsOf } from '../rules/terms.ts'
import { createMemoryStore } from '../stores/memory.ts'
import type { Core } from './core.ts'
import { runJobs } from './jobs.ts'
import { requestPointer } from './open-challenge.ts'
import type { Resolver } from './resolve.ts'
import { createSignals } from './signals.ts'

const network = NETWORKS[1]!
const payTo = `0x${'aa'.repeat(20)}` as const
const price = { amount: '10', asset: network.asset, network: network.id, payTo }
const plan = { kind: 'plan', planId: 'basic', resourceId: 'default' } as const

test('a challenge that is forgotten takes every name with it that led there', async () => {
  const store = createMemoryStore()
  const core = {
    store,
    signals: createSignals(),
    clock: { now: () => 10_000 },
    alerts: { raise: () => undefined },
    config: { leaseMs: 1000, refundIntervalMs: 1000, deliveryLeaseMs: 1000 },
  } as unknown as Core
  const made = { key: 'mcp-x', transport: 'mcp', createdAt: 0, expiresAt: 1, clientAgentId: null } as const
  const row: ChallengeRow = {
    ...newChallenge(termsOf(plan, price, 'mcp-second'), made),
    state: 'EXPIRED',
    earlierNames: ['mcp-first'],
    dueAt: 1,
  }
  const names = ['mcp-first', 'mcp-second', 'another']
  await store.commit({
    puts: [
      { table: 'challenges', row },
      requestPointer({ ...row, requestId: 'mcp-first' }),
      requestPointer(row),
      requestPointer({ ...row, key: 'http-y', requestId: 'another' }),
    ],
  })
  await runJobs(core, { adopt: async () => {} } as unknown as Resolver)
  expect(await store.get('challenges', ['mcp-x'])).toEqual([undefined])
  expect(await store.get('requests', names)).toEqual([
    undefined,
    undefined,
    expect.objectContaining({ challengeId: 'http-y' }),
  ])
})
