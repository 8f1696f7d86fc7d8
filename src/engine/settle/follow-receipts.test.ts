import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt } from '../../../test/engine/test-rows.ts'
import type { MinedTx, ReceiptRow } from '../../ports.ts'
import type { Hex } from '../../protocol/hex.ts'
import { followReceipts } from './follow-receipts.ts'
import { createResolver } from './resolve.ts'

const TX: Hex = `0x${'7a'.repeat(32)}`
const block = (number: number) => ({ number, hash: `0x${number}` as Hex, timestamp: number * 2 })

/** A receipt in block 20 of a chain at block 21 with 1.5 s a block, of which `finalized` is final. */
async function follow({ finalized, mined }: { finalized: number; mined: MinedTx[] }) {
  const asked: string[] = []
  const latest = { ...block(21), timestamp: block(finalized).timestamp + Math.floor((21 - finalized) * 1.5) }
  const rail = testRail({
    chain: {
      head: async () => ({ latest, finalized: block(finalized) }),
      mined: async (hashes) => {
        asked.push(`mined ${hashes.length}`)
        return mined
      },
    },
    scheme: {
      async uses() {
        asked.push('uses')
        throw new Error('stop here')
      },
    },
  })
  const { core, rail: open, store } = testCore({ rails: [rail] })
  const attempt = testAttempt({ key: 'a', phase: 'CONFIRMED', walletTx: 'tx' }, rail)
  const receipt = (key: string): ReceiptRow => ({
    ...{ key, version: 0, ref: 'c', dueAt: 1, challengeId: 'c', rail: rail.id, source: { kind: 'payment' } },
    ...{ role: 'pays', payer: attempt.payer, value: '10', txHash: TX, logIndex: 1 },
    ...{ blockNumber: 20, blockHash: block(20).hash, fromHeight: 0, finalized: false, lost: false },
  })
  const rows = [receipt('a'), receipt('b')]
  await store.commit({
    puts: [
      { table: 'authorizations', row: attempt },
      ...rows.map((row) => ({ table: 'receipts' as const, row })),
    ],
  })
  const stored = rows.map((row) => ({ ...row, version: 1 }))
  await followReceipts(core, open, createResolver(core, open), stored).catch(() => undefined)
  const [first] = await store.get('receipts', ['a'])
  return { asked, inMs: first!.dueAt! - core.clock.now() }
}

const inBlock = (blockNumber: number): MinedTx[] => [{ hash: TX, success: true, blockNumber }]

test('while its block is not final, one call shows for all payments of a transaction that it is still there', async () => {
  const { asked, inMs } = await follow({ finalized: 14, mined: inBlock(20) })
  expect(asked).toEqual(['mined 1'])
  expect(inMs).toBe(Math.ceil((6 * 10_000) / 7))
})

test.each([
  ['is in another block', 14, inBlock(21)],
  ['is in none', 14, []],
  ['failed', 14, [{ ...inBlock(20)[0]!, success: false }]],
])('a payment whose transaction %s is searched for', async (_, finalized, mined) => {
  expect((await follow({ finalized, mined })).asked).toEqual(['mined 1', 'uses'])
})

test('a payment whose block is final is searched for', async () => {
  expect((await follow({ finalized: 20, mined: inBlock(20) })).asked).toEqual(['uses'])
})
