import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { SELLER } from '../../../test/engine/test-rail.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import type { ReceiptRow } from '../../ports.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { requestPointer } from '../challenge/open-challenge.ts'
import { createAccounts } from '../credits/accounts.ts'
import { runJobs } from './run-jobs.ts'

test('a deleted challenge is deleted together with every name that led to it', async () => {
  const { core, store } = testCore({ clock: createFakeClock(10_000) })
  const row = testChallenge({
    key: 'mcp-x',
    requestId: 'mcp-second',
    transport: 'mcp',
    state: 'EXPIRED',
    earlierNames: ['mcp-first'],
  })
  const names = ['mcp-first', 'mcp-second', 'another']
  await store.commit({
    puts: [
      { table: 'challenges', row },
      requestPointer({ ...row, requestId: 'mcp-first' }),
      requestPointer(row),
      requestPointer({ ...row, key: 'http-y', requestId: 'another' }),
    ],
  })
  await runJobs(core, createAccounts(core), () => {
    throw new Error('no payment is under way')
  })
  expect(await store.get('challenges', ['mcp-x'])).toEqual([undefined])
  expect(await store.get('requests', names)).toEqual([
    undefined,
    undefined,
    expect.objectContaining({ challengeId: 'http-y' }),
  ])
})

test.each([
  ['the backend answered 500', 'the backend answered 500'],
  [null, 'no call was answered before the refund was due'],
])(
  'an undelivered call stays PAID until its payment is final, and goes back after that: %s',
  async (failure, reason) => {
    const clock = createFakeClock(10_000)
    const { core, rail, store } = testCore({ clock })
    const run = async () => {
      await clock.advance(core.config.refundMinAgeMs + core.config.refundIntervalMs + core.config.leaseMs)
      await runJobs(core, createAccounts(core), () => {
        throw new Error('no payment is under way')
      })
      return (await store.get('challenges', ['http-1']))[0]?.state
    }
    const receipt: ReceiptRow = {
      ...{ key: 'paid', version: 0, ref: 'http-1', dueAt: null, challengeId: 'http-1', rail: rail.id },
      ...{ source: { kind: 'transfer', ordinal: 0, to: SELLER }, role: 'pays', payer: PAYER, value: '10' },
      ...{ txHash: '0x1', logIndex: 1, blockNumber: 1, blockHash: '0x1', fromHeight: 1 },
      ...{ finalized: false, lost: false },
    }
    const paid = { key: 'http-1', kind: 'route', state: 'PAID', receipt: 'paid', payer: PAYER } as const
    const row = testChallenge({ ...paid, failure, txHash: '0x1', paidAt: 10_000, dueAt: 10_000 })
    await store.commit({
      puts: [
        { table: 'challenges', row },
        { table: 'receipts', row: receipt },
      ],
    })
    expect(await run()).toBe('PAID')
    const [stored] = await store.get('receipts', ['paid'])
    await store.commit({ puts: [{ table: 'receipts', row: { ...stored!, finalized: true } }] })
    expect(await run()).toBe('REFUND_PENDING')
    const log = await store.log(0, 100)
    expect(log.filter(({ event }) => event === 'delivery-failed')).toMatchObject([{ details: { reason } }])
  },
)
