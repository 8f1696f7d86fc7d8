import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt, testChallenge } from '../../../test/engine/test-rows.ts'
import type { AuthorizationRow } from '../../ports.ts'
import type { Hex } from '../../protocol/hex.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createResolver, resolveAttempts } from './resolve.ts'

const LATEST = { number: 9, hash: '0x9', timestamp: 2000 } as const
const TX = `0x${'7a'.repeat(32)}` as const

/** A metered payment past its deadline, of which the transactions that the store knows show nothing. */
async function setUp(phase: 'BROADCAST' | 'ABANDONED', found: { txHash?: Hex }, finalTimestamp = 2000) {
  let searches = 0
  const clock = createFakeClock()
  const metered = testRail({
    chain: { head: async () => ({ latest: LATEST, finalized: { ...LATEST, timestamp: finalTimestamp } }) },
    scheme: {
      uses: async () => ({ at: LATEST, found: [], mined: [] }),
      metered: {
        charged: (signed) => signed,
        async findSettlement() {
          searches += 1
          return { at: LATEST, ...found }
        },
      },
    },
  })
  const { core } = testCore({ rails: [testRail(), { ...metered, id: 'metered' }], clock })
  const challenge = testChallenge({ key: 'c', expiresAt: 9e15, claimed: true, liveAuth: 'a' })
  const sent = testAttempt({ key: 'a', challengeId: 'c', walletTx: 'lost', sends: 1, fromHeight: 5, phase })
  const attempt: AuthorizationRow = {
    ...{ ...sent, rail: 'metered', answer: 'sealed' },
    auth: { ...sent.auth, validBefore: '1000' },
  }
  await core.store.commit({
    puts: [
      { table: 'challenges', row: challenge },
      { table: 'authorizations', row: attempt },
    ],
  })
  const rail = core.rails.find('metered')!
  const resolver = createResolver(core, rail)
  const row = async () => (await core.store.get('authorizations', ['a']))[0]!
  const resolve = async () => resolveAttempts(core, rail, resolver, [await row()])
  return { core, clock, resolver, row, resolve, searches: () => searches }
}

test('a metered payment past its deadline is searched for before it is given up, and followed if it is found', async () => {
  const { resolve, row, resolver } = await setUp('BROADCAST', { txHash: TX })
  const before = await row()
  expect((await resolve()).decided).toEqual([[before, undefined]])
  await expect.poll(async () => (await row()).foundTx).toBe(TX)
  expect(await row()).toMatchObject({ phase: 'BROADCAST', answer: 'sealed' })
  resolver.stop()
  await resolver.idle()
})

test('while no final block is past its deadline it is not given up', async () => {
  const { resolve, row } = await setUp('BROADCAST', {}, 999)
  await resolve()
  await expect.poll(async () => (await row()).version).toBe(3)
  expect(await row()).toMatchObject({ phase: 'BROADCAST', answer: 'sealed', fromHeight: 10 })
})

test('found nowhere up to there, it is given up, and then it ends', async () => {
  const { core, resolve, row, searches } = await setUp('BROADCAST', {})
  await resolve()
  await expect.poll(async () => (await row()).phase).toBe('ABANDONED')
  expect(await row()).toMatchObject({ answer: 'sealed', reason: 'authorization_expired' })
  expect(await core.store.get('challenges', ['c'])).toMatchObject([{ liveAuth: null }])
  await resolve()
  await expect.poll(async () => (await row()).phase).toBe('DEAD')
  expect([(await row()).answer, searches()]).toEqual([undefined, 2])
})

test('one that was given up before is searched for before its answer is dropped', async () => {
  const { resolve, row } = await setUp('ABANDONED', { txHash: TX })
  await resolve()
  await expect.poll(async () => (await row()).foundTx).toBe(TX)
  expect(await row()).toMatchObject({ phase: 'ABANDONED', answer: 'sealed' })
  expect((await row()).dueAt).not.toBeNull()
})

test.each(['used', 'ok'] as const)(
  'a payment past its deadline without logs ends only if the token says %s',
  async (kind) => {
    const lagging = testRail({
      chain: { head: async () => ({ latest: LATEST, finalized: LATEST }) },
      scheme: {
        uses: async () => ({ at: LATEST, found: [], mined: [] }),
        simulate: async (payments) => ({
          at: LATEST,
          results: payments.map(() => (kind === 'ok' ? { kind, alone: false } : { kind })),
        }),
      },
    })
    const { core, rail, store } = testCore({ rails: [lagging] })
    const challenge = testChallenge({ key: 'c', expiresAt: 9e15, claimed: true, liveAuth: 'a' })
    const sent = testAttempt({ key: 'a', challengeId: 'c', phase: 'BROADCAST', sends: 1, fromHeight: 5 })
    const attempt = { ...sent, auth: { ...sent.auth, validBefore: '1000' } }
    await store.commit({
      puts: [
        { table: 'challenges', row: challenge },
        { table: 'authorizations', row: attempt },
      ],
    })
    await resolveAttempts(core, rail, createResolver(core, rail), [{ ...attempt, version: 1 }])
    const [row] = await store.get('authorizations', ['a'])
    expect(row!.phase).toBe(kind === 'used' ? 'BROADCAST' : 'ABANDONED')
  },
)
