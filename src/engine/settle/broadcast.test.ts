import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt, testChallenge } from '../../../test/engine/test-rows.ts'
import type { AuthorizationRow, SimResult, Store } from '../../ports.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { withResolvers } from '../signals.ts'
import type { AttemptTracker } from './attempt-tracker.ts'
import { broadcast, createBroadcaster } from './broadcast.ts'

const OK: SimResult = { kind: 'ok', alone: false }
const POOR: SimResult = { kind: 'fails', reason: 'ERC20: transfer amount exceeds balance' }
const BLOCK = { number: 7, hash: '0x7', timestamp: 100 } as const

/** Two claims, a chain that answers when `look` is resolved, and a settlement that records its calls. */
async function setUp({ exclusive = true } = {}) {
  const store: Store = { ...createMemoryStore(), exclusive }
  const look = withResolvers<SimResult[]>()
  const events: string[] = []
  const rails = [
    testRail({
      chain: { head: async () => ({ latest: BLOCK, finalized: BLOCK }) },
      scheme: {
        async simulate() {
          events.push('look')
          return { at: BLOCK, results: await look.promise }
        },
      },
      settlement: {
        async makeBatches(items) {
          const what = items
            .map(({ member, alone }) => (alone ? `${member.key} alone` : member.key))
            .join('+')
          events.push(`batch ${what}`)
          return [
            {
              keys: items.map(({ member }) => member.key),
              puts: [],
              walletTx: 'tx',
              drop: () => void events.push(`drop ${what}`),
              async send() {
                events.push(`send ${what}`)
                return { kind: 'sent' as const }
              },
            },
          ]
        },
      },
    }),
  ]
  const { core, rail } = testCore({ store, rails, clock: createFakeClock() })
  const attempts = [await claimed(store, 'a'), await claimed(store, 'b')]
  const tracker: AttemptTracker = {
    watch: () => {},
    refused: async () => {},
    noteSent: () => {},
    progress: () => undefined,
  }
  return { core, rail, events, look, attempts, tracker, run: () => broadcast(core, rail, tracker, attempts) }
}

async function claimed(store: Store, key: string): Promise<AuthorizationRow> {
  const challenge = testChallenge({ key: `c-${key}`, expiresAt: 9e15, claimed: true, liveAuth: key })
  const attempt = testAttempt({ key, challengeId: challenge.key, dueAt: 1 })
  const row = { ...attempt, auth: { ...attempt.auth, validBefore: '999' } }
  await store.commit({
    puts: [
      { table: 'challenges', row: challenge },
      { table: 'authorizations', row },
    ],
  })
  return { ...row, version: 1 }
}

test('on the embedded store batches are made during the look, and sent unchanged', async () => {
  const { run, look, events } = await setUp()
  const running = run()
  await expect.poll(() => events).toEqual(['look', 'batch a+b'])
  look.resolve([OK, OK])
  expect([...(await running).values()]).toEqual([{ kind: 'broadcast' }, { kind: 'broadcast' }])
  expect(events).toEqual(['look', 'batch a+b', 'send a+b'])
})

test.each<[string, SimResult, string]>([
  ['refuses one payment', POOR, 'batch a'],
  ['requires one to go alone', { kind: 'ok', alone: true }, 'batch a+b alone'],
])('if the look %s, the prepared batch is dropped before another is made', async (_, second, anew) => {
  const { core, run, look, events } = await setUp()
  look.resolve([OK, second])
  const looked = await run()
  expect(events).toEqual(['look', 'batch a+b', 'drop a+b', anew, anew.replace('batch', 'send')])
  const [, b] = await core.store.get('authorizations', ['a', 'b'])
  expect([looked.get('b')?.kind, b?.phase]).toEqual(
    second === POOR ? ['released', 'RELEASED'] : ['broadcast', 'BROADCAST'],
  )
})

test('a payment that was used before its claim is refused without a promise about a new one: that is charged', async () => {
  const { run, look } = await setUp()
  look.resolve([{ kind: 'used' }, OK])
  expect((await run()).get('a')).toMatchObject({
    kind: 'released',
    error: {
      code: 'TX_ALREADY_REDEEMED',
      message: expect.stringMatching(
        /has no sale of challenge c-a for it\. A new authorization is .* charged\./,
      ),
    },
  })
})

test('a claim that was never sent is deleted after 20 to 60 minutes', async () => {
  const { core, run, look } = await setUp()
  look.resolve([POOR, POOR])
  await run()
  const rows = await core.store.get('authorizations', ['a', 'b'])
  for (const row of rows) {
    expect(row!.dueAt! - core.clock.now()).toBeGreaterThan(20 * 60_000)
    expect(row!.dueAt! - core.clock.now()).toBeLessThanOrEqual(60 * 60_000)
  }
})

test('if the chain cannot be reached, the batch is dropped and the claims are released', async () => {
  const { rail, run, events } = await setUp()
  rail.scheme.simulate = () => Promise.reject(new Error('unreachable'))
  expect([...(await run()).values()].map(({ kind }) => kind)).toEqual(['released', 'released'])
  expect(events).toEqual(['batch a+b', 'drop a+b'])
})

test('on a shared store batches are made after the look', async () => {
  const { run, look, events } = await setUp({ exclusive: false })
  const running = run()
  await nextTurn()
  expect(events).toEqual(['look'])
  look.resolve([OK, OK])
  await running
  expect(events).toEqual(['look', 'batch a+b', 'send a+b'])
})

test('if a claim lapsed while it waited and was made again, only the newest is sent', async () => {
  const { core, rail, attempts, tracker, look, events } = await setUp({ exclusive: false })
  const [a, b] = attempts as [AuthorizationRow, AuthorizationRow]
  const broadcaster = createBroadcaster(core, rail, tracker)
  const first = broadcaster.add(a)
  await expect.poll(() => events).toEqual(['look'])
  const waiting = broadcaster.add(b)
  const anew = { ...b, dueAt: 2 }
  await core.store.commit({ puts: [{ table: 'authorizations', row: anew }] })
  const again = broadcaster.add({ ...anew, version: 2 })
  look.resolve([OK, OK])
  expect(await Promise.all([first, waiting, again])).toEqual([
    { kind: 'broadcast' },
    { kind: 'taken' },
    { kind: 'broadcast' },
  ])
  expect(events).toEqual(['look', 'batch a', 'send a', 'look', 'batch b', 'send b'])
})
