import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt, testChallenge } from '../../../test/engine/test-rows.ts'
import type { AuthorizationRow, Block, Scheme, SimResult } from '../../ports.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import type { AttemptTracker } from '../settle/attempt-tracker.ts'
import { broadcast } from '../settle/broadcast.ts'
import { withResolvers } from '../signals.ts'

const BLOCK = { number: 7, hash: '0x7', timestamp: 100 } as const
/** No later block can take the payment. */
const PAST_DEADLINE = { ...BLOCK, number: 9, timestamp: 2000 } as const
const TX = `0x${'7a'.repeat(32)}` as const
const USED: SimResult = { kind: 'used' }
type Find = NonNullable<NonNullable<Scheme['metered']>['findSettlement']>

interface Setting {
  change?: Partial<AuthorizationRow>
  finalized?: Block
  /** What the look at the chain shows of it; its nonce as used, unless said otherwise. */
  result?: SimResult
  /** Another charge that is sent together with it. */
  other?: SimResult
}

/** A stored charge, or one that was sent. */
async function setUp(
  findSettlement: Find,
  { change = {}, finalized = BLOCK, result = USED, other }: Setting = {},
) {
  const asked: number[] = []
  const clock = createFakeClock()
  const rail = testRail({
    chain: { head: async () => ({ latest: finalized, finalized }) },
    scheme: {
      simulate: async (payments) => ({
        at: finalized,
        results: payments.map((_, at) => [result, other!][at]!),
      }),
      validityFault: (_, chainTime) => (chainTime >= 1000 ? 'it ran out' : undefined),
      metered: {
        charged: (signed) => signed,
        findSettlement(signed, fromHeight) {
          asked.push(fromHeight)
          return findSettlement(signed, fromHeight)
        },
      },
    },
    settlement: {
      makeBatches: async (items) =>
        items.map(({ member: { key } }) => ({
          ...{ keys: [key], puts: [], walletTx: `tx of ${key}`, drop: () => {} },
          send: async () => ({ kind: 'sent' as const }),
        })),
    },
  })
  const { core, alerts } = testCore({ rails: [testRail(), { ...rail, id: 'metered' }], clock })
  const { auth } = testAttempt({ key: 'any' })
  const attempts = (other ? ['a', 'b'] : ['a']).map((key) => ({
    ...testAttempt({ key, challengeId: `c-${key}`, dueAt: 1, answer: 'sealed' }),
    auth: { ...auth, validBefore: '1000' },
    claim: { requestId: 'r', at: 1, openedAt: 1 },
    ...{ rail: 'metered', phase: 'CHARGED' as const, fromHeight: 5, ...change },
  }))
  for (const row of attempts) {
    const challenge = testChallenge({
      key: `c-${row.key}`,
      expiresAt: 9e15,
      claimed: true,
      liveAuth: row.key,
    })
    await core.store.commit({
      puts: [
        { table: 'challenges', row: challenge },
        { table: 'authorizations', row },
      ],
    })
  }
  const watched: AuthorizationRow[] = []
  const refused: string[] = []
  const tracker: AttemptTracker = {
    watch: (rows) => void watched.push(...rows),
    refused: async (_row, reason) => void refused.push(reason),
    noteSent: () => {},
    progress: () => undefined,
  }
  const rows = attempts.map((attempt) => ({ ...attempt, version: 1 }))
  const outcomes = await broadcast(core, core.rails.find('metered')!, tracker, rows)
  const row = async () => (await core.store.get('authorizations', ['a']))[0]!
  /** The row once the search has stored what came of it. */
  const searched = async () => {
    await expect.poll(async () => (await row()).version).toBe(3)
    return row()
  }
  const log = async () => (await core.store.audit('c-a')).map(({ event }) => event)
  return { clock, asked, watched, refused, alerts, row, searched, log, outcomes }
}

test('a stored charge that a transaction on the chain has settled is followed like one that was just sent', async () => {
  const { asked, watched, searched, log } = await setUp(async () => ({ at: BLOCK, txHash: TX }))
  const row = await searched()
  expect(asked).toEqual([5])
  expect(row).toMatchObject({ phase: 'BROADCAST', foundTx: TX, answer: 'sealed', sends: 1 })
  expect([watched, await log()]).toEqual([[row], ['payment-claimed']])
})

test('so is one that was sent, and whose transaction the store lost; it is logged once', async () => {
  const change = { phase: 'BROADCAST', walletTx: 'replaced', sends: 1 } as const
  const { searched, log } = await setUp(async () => ({ at: BLOCK, txHash: TX }), { change })
  expect(await searched()).toMatchObject({ phase: 'BROADCAST', foundTx: TX, walletTx: 'replaced' })
  expect(await log()).toEqual([])
})

test('so is one that has run out: the chain then shows its end, and not whether it was used', async () => {
  const { searched, outcomes } = await setUp(async () => ({ at: PAST_DEADLINE, txHash: TX }), {
    finalized: PAST_DEADLINE,
    result: { kind: 'fails', reason: 'authorization_expired' },
  })
  expect(outcomes.get('a')).toMatchObject({ kind: 'unpaid' })
  expect(await searched()).toMatchObject({ phase: 'BROADCAST', foundTx: TX, answer: 'sealed' })
})

test('what needs no search does not wait for one, and a search keeps its row for as long as it takes', async () => {
  const search = withResolvers<Awaited<ReturnType<Find>>>()
  const { clock, outcomes, row, watched } = await setUp(() => search.promise, {
    other: { kind: 'ok', alone: true },
  })
  expect([...outcomes].map(([key, { kind }]) => [key, kind])).toEqual([
    ['a', 'searched'],
    ['b', 'broadcast'],
  ])
  for (let minute = 0; minute < 30; minute++) {
    await clock.advance(60_000)
    await expect.poll(async () => (await row()).dueAt! > clock.now()).toBe(true)
  }
  search.resolve({ at: BLOCK, txHash: TX })
  await expect.poll(async () => (await row()).foundTx).toBe(TX)
  expect(watched.map(({ key }) => key)).toEqual(['b', 'a'])
})

test.each<[string, Find]>([
  ['cannot be searched', () => Promise.reject(new Error('unreachable'))],
  ['is shown by a node that lacks final blocks', async () => ({ at: BLOCK })],
])('if the chain %s, nothing is decided, and the operator is told', async (_, find) => {
  const { alerts, row, watched, clock } = await setUp(find, { finalized: PAST_DEADLINE })
  await expect.poll(() => alerts.length).toBe(1)
  expect(alerts[0]).toMatchObject({
    kind: 'job-failed',
    message: expect.stringContaining('the settlement of challenge c-a'),
  })
  expect(await row()).toMatchObject({ phase: 'CHARGED', answer: 'sealed', fromHeight: 5 })
  expect((await row()).dueAt).toBeGreaterThan(clock.now())
  expect(watched).toEqual([])
})

test('before a final block is past its deadline, a charge that is not found stays; the search goes on above the final block', async () => {
  const { searched, clock, alerts } = await setUp(async () => ({ at: BLOCK }))
  const row = await searched()
  expect(row).toMatchObject({ phase: 'CHARGED', answer: 'sealed', fromHeight: 8, reason: null })
  expect([row.dueAt! > clock.now(), alerts]).toEqual([true, []])
})

test('a charge that is not found up to a final block past its deadline has ended; its answer is dropped', async () => {
  const { searched, log } = await setUp(async () => ({ at: PAST_DEADLINE }), { finalized: PAST_DEADLINE })
  const row = await searched()
  expect(row).toMatchObject({ phase: 'DEAD', dueAt: null })
  expect(row.answer).toBeUndefined()
  expect(await log()).toEqual(['payment-claimed', 'payment-abandoned'])
})

test('one that was sent is then given up like any other', async () => {
  const { refused } = await setUp(async () => ({ at: PAST_DEADLINE }), {
    ...{ finalized: PAST_DEADLINE, change: { phase: 'BROADCAST', walletTx: 'replaced', sends: 1 } },
  })
  await expect.poll(() => refused).toEqual(['authorization_expired'])
})

test('a row of an earlier version, which has no height, starts no search through the whole chain', async () => {
  const { asked, row } = await setUp(async () => ({ at: BLOCK, txHash: TX }), { change: { fromHeight: 0 } })
  expect([asked, (await row()).phase]).toEqual([[], 'DEAD'])
})
