import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { TESTNET, testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt, testChallenge } from '../../../test/engine/test-rows.ts'
import type { Block, FoundUses, Sendable, SimResult } from '../../ports.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { withResolvers } from '../signals.ts'
import { broadcast } from './broadcast.ts'

const BLOCK: Block = { number: 1_000_000, hash: '0x7', timestamp: 100 }
const network = { ...TESTNET, blockMs: 400, logRange: 100 }

/** Two claims: the nonce of `a` is used, and `b` is sound. */
async function setUp() {
  const search = withResolvers<FoundUses | Promise<FoundUses>>()
  const events: string[] = []
  const results: SimResult[] = [{ kind: 'used' }, { kind: 'ok', alone: false }]
  const { core, rail, store } = testCore({
    clock: createFakeClock(),
    rails: [
      testRail({
        network,
        chain: { head: async () => ({ latest: BLOCK, finalized: BLOCK }) },
        scheme: {
          simulate: async () => ({ at: BLOCK, results }),
          uses(keys, fromHeight) {
            events.push(`search ${keys.join()} from ${fromHeight}`)
            return search.promise.then((found) => found)
          },
        },
        settlement: {
          makeBatches: async (items: readonly Sendable[]) => [
            {
              keys: items.map(({ member }) => member.key),
              ...{ puts: [], walletTx: 'tx', drop() {} },
              async send() {
                events.push(`send ${items.map(({ member }) => member.key).join()}`)
                return { kind: 'sent' as const }
              },
            },
          ],
        },
      }),
    ],
  })
  const attempts = ['a', 'b'].map((key) => {
    const attempt = testAttempt({ key, challengeId: `c-${key}`, dueAt: 1 }, rail)
    return { ...attempt, auth: { ...attempt.auth, validBefore: '999' } }
  })
  const challenge = { expiresAt: 9e15, claimed: true }
  await store.commit({
    puts: attempts.flatMap((row) => [
      { table: 'authorizations' as const, row },
      {
        table: 'challenges' as const,
        row: testChallenge({ ...challenge, key: row.challengeId, liveAuth: row.key }),
      },
    ]),
  })
  const stored = attempts.map((row) => ({ ...row, version: 1 }))
  const tracker = { watch() {}, refused: async () => {}, noteSent() {}, progress: () => undefined }
  return { events, search, run: () => broadcast(core, rail, tracker, stored) }
}

test('a cancellation is searched for after the others are sent, in no more blocks than one query takes', async () => {
  const { events, search, run } = await setUp()
  const running = run()
  await expect.poll(() => events).toEqual(['send b', 'search a from 999901'])
  const use = { kind: 'canceled' as const, key: 'a', block: BLOCK, txHash: '0x1' as const }
  search.resolve({ at: BLOCK, found: [use], mined: [] })
  const outcomes = await running
  expect(outcomes.get('a')).toMatchObject({ kind: 'released', error: { code: 'PAYMENT_FAILED' } })
  expect(outcomes.get('b')).toEqual({ kind: 'broadcast' })
})

test('what is not found, or cannot be searched for, is told as used', async () => {
  for (const end of ['nothing', 'failure'] as const) {
    const { search, run } = await setUp()
    if (end === 'nothing') search.resolve({ at: BLOCK, found: [], mined: [] })
    else search.resolve(Promise.reject(new Error('down')))
    const outcomes = await run()
    expect(outcomes.get('a')).toMatchObject({ kind: 'released', error: { code: 'TX_ALREADY_REDEEMED' } })
  }
})
