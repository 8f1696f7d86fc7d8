import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { SELLER, testRail } from '../../../test/engine/test-rail.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import type { Block, ReceiptRow, RefundRow, Sendable } from '../../ports.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { runRefunds } from './run-refunds.ts'

const block: Block = { number: 100, hash: `0x${'0'.repeat(64)}`, timestamp: 200 }

/** A refund that waits, of a receipt that is final. */
async function open(keys: readonly string[]) {
  const sent: Sendable[] = []
  const submitter = {
    batchSize: 10,
    unavailable: async () => undefined,
    async makeBatches(items: readonly Sendable[]) {
      sent.push(...items)
      const keys = items.map(({ member }) => member.key)
      return [{ keys, puts: [], walletTx: null, send: async () => ({ kind: 'sent' as const }), drop() {} }]
    },
    maintain: async () => {},
  }
  const { core, rail, store, alerts } = testCore({
    clock: createFakeClock(1000),
    config: { refundMaxAttempts: 2, refundIntervalMs: 60_000 },
    rails: [
      testRail({
        chain: { head: async () => ({ latest: block, finalized: block }) },
        scheme: {
          simulate: async (payments) => ({
            at: block,
            results: payments.map(() => ({ kind: 'ok' as const, alone: false })),
          }),
        },
        refundSubmitters: [submitter],
        refundSigner: {
          address: SELLER,
          keyOf: (key) => key,
          async sign({ receiptKey, recipient, value }) {
            if (receiptKey === 'unsignable') throw new Error('no receipt\nDocs: elsewhere')
            const times = { validAfter: '0', validBefore: '1100' }
            return {
              from: SELLER,
              to: recipient,
              value,
              ...times,
              nonce: `0x${'01'.repeat(32)}`,
              signature: '0x',
            }
          },
        },
      }),
    ],
  })
  const receipt = { version: 0, ref: null, dueAt: null, blockNumber: 10, finalized: true }
  const refund = {
    ...{ version: 0, ref: 'http-1', dueAt: 1000, challengeId: 'http-1', movesState: false },
    ...{ recipient: PAYER, value: '1000', auth: null, attempts: 0, fromHeight: 10 },
    ...{ walletTx: null, txHash: null, reason: null, rail: rail.id },
    phase: 'WAITING' as const,
  }
  await store.commit({
    puts: [
      { table: 'challenges', row: testChallenge({ key: 'http-1', state: 'DELIVERED' }) },
      ...keys.flatMap((key) => [
        { table: 'receipts' as const, row: { ...receipt, key } as ReceiptRow },
        { table: 'refunds' as const, row: { ...refund, key } },
      ]),
    ],
  })
  const rows = async () => (await store.get('refunds', keys)) as RefundRow[]
  return { sent, rows, alerts, run: async () => runRefunds(core, rail, await rows()) }
}

test('a refund that cannot be signed fails alone, and the others are sent', async () => {
  const { sent, rows, alerts, run } = await open(['first', 'unsignable', 'last'])
  await run()
  expect(sent.map(({ member }) => member.key)).toEqual(['first', 'last'])
  expect(await rows()).toMatchObject([
    { phase: 'BROADCAST' },
    { phase: 'WAITING', attempts: 1, reason: 'it cannot be signed: no receipt', dueAt: 61_000 },
    { phase: 'BROADCAST' },
  ])
  expect(alerts).toEqual([])
})

test('after the last try the operator is told why it cannot be signed', async () => {
  const { rows, alerts, run } = await open(['unsignable'])
  await run()
  await run()
  expect(await rows()).toMatchObject([{ phase: 'FAILED', attempts: 2 }])
  expect(alerts).toMatchObject([
    { kind: 'refund-failed', message: expect.stringContaining('it cannot be signed: no receipt') },
  ])
})
