import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt, testChallenge } from '../../../test/engine/test-rows.ts'
import type { AuthorizationRow, Scheme } from '../../ports.ts'
import type { AttemptTracker } from '../settle/attempt-tracker.ts'
import { broadcast } from '../settle/broadcast.ts'

const BLOCK = { number: 7, hash: '0x7', timestamp: 100 } as const
const TX = `0x${'7a'.repeat(32)}` as const
type Find = NonNullable<NonNullable<Scheme['metered']>['findSettlement']>

/** A stored charge, or one that was sent, whose nonce the chain shows as used. */
async function setUp(findSettlement: Find, change: Partial<AuthorizationRow> = {}) {
  const asked: number[] = []
  const rail = testRail({
    chain: { head: async () => ({ latest: BLOCK, finalized: BLOCK }) },
    scheme: {
      simulate: async () => ({ at: BLOCK, results: [{ kind: 'used' }] }),
      metered: {
        charged: (signed) => signed,
        findSettlement(signed, fromHeight) {
          asked.push(fromHeight)
          return findSettlement(signed, fromHeight)
        },
      },
    },
  })
  const { core } = testCore({ rails: [testRail(), { ...rail, id: 'metered' }] })
  const challenge = testChallenge({ key: 'c', expiresAt: 9e15, claimed: true, liveAuth: 'a' })
  const claim = { requestId: 'r', at: 1, openedAt: 1 }
  const attempt = {
    ...testAttempt({ key: 'a', challengeId: 'c', dueAt: 1, claim, answer: 'sealed' }),
    ...{ rail: 'metered', phase: 'CHARGED' as const, fromHeight: 5, ...change },
  }
  await core.store.commit({
    puts: [
      { table: 'challenges', row: challenge },
      { table: 'authorizations', row: attempt },
    ],
  })
  const watched: AuthorizationRow[] = []
  const tracker: AttemptTracker = {
    watch: (rows) => void watched.push(...rows),
    refused: async () => {},
    noteSent: () => {},
    progress: () => undefined,
  }
  const outcomes = await broadcast(core, core.rails.find('metered')!, tracker, [{ ...attempt, version: 1 }])
  const [row] = await core.store.get('authorizations', ['a'])
  const log = (await core.store.audit('c')).map(({ event }) => event)
  return { asked, watched, row, log, outcome: outcomes.get('a')?.kind }
}

test('a stored charge that a transaction on the chain has settled is followed like one that was just sent', async () => {
  const { asked, watched, row, log, outcome } = await setUp(async () => ({ at: BLOCK, txHash: TX }))
  expect(asked).toEqual([5])
  expect(row).toMatchObject({ phase: 'BROADCAST', foundTx: TX, answer: 'sealed', sends: 1 })
  expect([watched, outcome, log]).toEqual([[row], 'broadcast', ['payment-claimed']])
})

test('so is one that was sent, and whose transaction the store lost; it is logged once', async () => {
  const sent = { phase: 'BROADCAST', walletTx: 'replaced', sends: 1 } as const
  const { row, log } = await setUp(async () => ({ at: BLOCK, txHash: TX }), sent)
  expect(row).toMatchObject({ phase: 'BROADCAST', foundTx: TX, walletTx: 'replaced' })
  expect(log).toEqual([])
})

test.each<[string, Find]>([
  ['cannot be searched', () => Promise.reject(new Error('unreachable'))],
  ['is shown by a node that is behind', async () => ({ at: { ...BLOCK, number: 6 } })],
])('if the chain %s, nothing is decided', async (_, find) => {
  const { row, watched, outcome } = await setUp(find)
  expect(row).toMatchObject({ phase: 'CHARGED', version: 1, answer: 'sealed' })
  expect([watched, outcome]).toEqual([[], undefined])
})

test('a nonce that is used without a settlement ends the charge; its answer is dropped', async () => {
  const { row, log, outcome } = await setUp(async () => ({ at: BLOCK }))
  expect(row).toMatchObject({ phase: 'DEAD', dueAt: null })
  expect(row?.answer).toBeUndefined()
  expect([outcome, log]).toEqual(['unpaid', ['payment-claimed', 'payment-abandoned']])
})

test('a row of an earlier version, which has no height, starts no search through the whole chain', async () => {
  const { asked, row } = await setUp(async () => ({ at: BLOCK, txHash: TX }), { fromHeight: 0 })
  expect([asked, row?.phase]).toEqual([[], 'DEAD'])
})
