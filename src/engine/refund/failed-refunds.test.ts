import { expect, test } from 'vitest'
import type { AuditEntry } from '../../ports.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { samplePut, sampleRow } from '../../testing/store-rows.ts'
import { enterNext } from '../books/keep-book.ts'
import { failedRefunds } from './failed-refunds.ts'

test('the failed refund of a surplus is found after another surplus of the sale was refunded', async () => {
  const store = createMemoryStore()
  const entry = (event: string, payment: string): AuditEntry => ({
    ...{ at: 1, challengeId: 'c', requestId: 'r', event, actor: 'gateway', details: { payment } },
    ...{ fromState: 'DELIVERED', toState: 'DELIVERED' },
  })
  const refund = (key: string, phase: 'FAILED' | 'DONE') =>
    samplePut('refunds', {
      ...sampleRow('refunds', { key, ref: 'c', dueAt: null }),
      ...{ challengeId: 'c', phase },
    })
  await store.commit({
    puts: [
      samplePut('challenges', { ...sampleRow('challenges', { key: 'c' }), ...{ state: 'DELIVERED' } }),
      ...[refund('a', 'FAILED'), refund('b', 'DONE')],
    ],
    audit: [
      ...[entry('surplus-received', 'a'), entry('surplus-refund-failed', 'a')],
      ...[entry('surplus-received', 'b'), entry('surplus-refunded', 'b')],
    ],
  })
  await enterNext({ store, clock: createFakeClock() }, Number.POSITIVE_INFINITY)
  expect(await failedRefunds(store)).toMatchObject([{ key: 'a' }])
})
