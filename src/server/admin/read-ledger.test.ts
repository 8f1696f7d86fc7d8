import { expect, test } from 'vitest'
import { MAINNET, testRail } from '../../../test/engine/test-rail.ts'
import { testChallenge } from '../../../test/engine/test-rows.ts'
import type { AuditEntry, RefundRow } from '../../ports.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { readLedger } from './read-ledger.ts'

const rail = testRail({ network: MAINNET })

/** The ledger's one entry for a sale with this log, and refunds under these keys. */
async function entryWith(
  log: ReadonlyArray<Pick<AuditEntry, 'event' | 'at' | 'details'>>,
  ...keys: string[]
) {
  const store = createMemoryStore()
  const row = testChallenge({ key: 'http-1', amount: '1000000', receipt: 'first' }, { rail })
  const refunds = keys.map(
    (key): RefundRow => ({
      ...{ key, version: 0, ref: row.key, dueAt: null, challengeId: row.key, rail: rail.id },
      ...{ movesState: key === 'first', recipient: `0x${'b'.repeat(40)}`, value: '1000000', auth: null },
      ...{ phase: 'WAITING', attempts: 0, fromHeight: 1, walletTx: null, txHash: null, reason: null },
    }),
  )
  await store.commit({
    puts: [
      { table: 'challenges', row: { ...row, claimed: true } },
      ...refunds.map((refund) => ({ table: 'refunds' as const, row: refund })),
    ],
    audit: log.map((entry) => ({
      ...{ challengeId: row.key, requestId: row.requestId, fromState: null, toState: row.state },
      ...{ actor: 'gateway', ...entry },
    })),
  })
  for await (const entry of readLedger(store)) return entry
  return undefined
}

test('the ledger says since when each refund is due, or was last tried again', async () => {
  const paid = { event: 'paid', at: 1 }
  const surplus = (event: string, at: number, payment: string) => ({ event, at, details: { payment } })
  const log = [
    paid,
    surplus('surplus-received', 20, 'second'),
    { event: 'delivery-failed', at: 30 },
    surplus('surplus-received', 40, 'third'),
    surplus('surplus-refund-failed', 50, 'second'),
    surplus('surplus-refund-retried', 60, 'second'),
  ]
  expect(await entryWith(log, 'first', 'second', 'third')).toMatchObject({
    refundsDue: { first: 30, second: 60, third: 40 },
  })
  expect((await entryWith([paid]))!.refundsDue).toBeUndefined()
})
