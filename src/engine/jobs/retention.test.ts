import { describe, expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { TESTNET } from '../../../test/engine/test-rail.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import { createJwtDelivery } from '../../delivery/issue-jwt.ts'
import { sharedSecretKeys } from '../../delivery/token-keys.ts'
import type { ChallengeRow } from '../../ports.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { auditEntry } from '../apply-event.ts'
import { orderOf } from '../core.ts'
import { settledOutcome } from '../deliver/settled-outcome.ts'
import { createLotIndex } from '../ownership/index-lots.ts'
import { lotsOf } from '../ownership/lots.ts'
import { createRetention, prune } from './retention.ts'

function delivered(key: string, change: Partial<ChallengeRow> = {}): ChallengeRow {
  return testChallenge({
    key,
    clientAgentId: 'agent',
    payer: PAYER,
    receipt: 'receipt',
    txHash: '0xab',
    paidAt: 1000,
    claimed: true,
    state: 'DELIVERED',
    result: 'x',
    dueAt: null,
    ...change,
  })
}

function open(retentionMs: number | undefined, nowMs: number) {
  const config = { ...(retentionMs !== undefined && { retentionMs }) }
  const { core, store } = testCore({ clock: createFakeClock(nowMs), config })
  const put = (row: ChallengeRow) => {
    const audit = [auditEntry(row, 'delivered', { at: 1000, actor: 'gateway' })]
    return store.commit({ puts: [{ table: 'challenges', row }], audit })
  }
  const get = async (key: string) => (await store.get('challenges', [key]))[0]!
  return { core, store, put, get }
}

test('the result and who called what are removed; the records of money stay', async () => {
  const { core, store, put, get } = open(5000, 6000)
  await put(delivered('a', { resource: { method: 'GET', path: '/patients/7' } }))
  const before = await get('a')
  await prune(core, before)
  const gone = { result: null, resource: null, clientAgentId: null, prunedAt: 6000, dueAt: null }
  expect(await get('a')).toEqual({ ...before, ...gone, version: before.version + 1 })
  expect((await store.audit('a')).map(({ event }) => event)).toEqual(['delivered', 'pruned'])
})

test('a row that was scheduled under another setting is rescheduled, or kept if retention is off', async () => {
  const longer = open(9000, 6000)
  await longer.put(delivered('a', { dueAt: 5000 }))
  await prune(longer.core, await longer.get('a'))
  expect(await longer.get('a')).toMatchObject({ result: 'x', dueAt: 10_000 })
  const off = open(undefined, 6000)
  await off.put(delivered('a', { dueAt: 5000 }))
  await prune(off.core, await off.get('a'))
  expect(await off.get('a')).toMatchObject({ result: 'x', dueAt: null })
})

test('sales from before retention was switched on are found in the log page by page, and scheduled once', async () => {
  const { core, put, get } = open(5000, 2000)
  for (let index = 0; index < 1200; index++) await put(delivered(`old-${index}`))
  await put(delivered('pruned', { result: null, prunedAt: 1 }))
  await put(delivered('paid', { state: 'PAID' }))
  const markOld = createRetention(core)
  await markOld()
  expect(await get('old-0')).toMatchObject({ dueAt: 6000, version: 2 })
  expect(await get('old-1199')).toMatchObject({ dueAt: null })
  for (let pass = 0; pass < 4; pass++) await markOld()
  expect(await get('old-1199')).toMatchObject({ dueAt: 6000, version: 2 })
  expect(await get('pruned')).toMatchObject({ dueAt: null, version: 1 })
  expect(await get('paid')).toMatchObject({ dueAt: null, version: 1 })
})

describe('a token that retention removed, of a plan that lasts longer by now', () => {
  const HOUR = 3_600_000
  const jwt = (hours: number) =>
    createJwtDelivery({
      keys: sharedSecretKeys('s'.repeat(32)),
      issuer: 'http://localhost',
      tokenTtlSeconds: 3600 * hours,
      plans: [],
      places: { resourceEndpoint: 'http://localhost/{resourceId}', explorerTxUrl: () => 'http://localhost/' },
    })
  const endOf = (hours: number) => new Date(hours * HOUR).toISOString()

  /** Sold for an hour or more, pruned a day later, and asked for again when the plan lasts for a month. */
  async function sold(hours: number, byEarlierVersion: boolean, hasLot: boolean) {
    const paid = delivered('a', { paidAt: 0 })
    const credential = await jwt(hours).deliver(orderOf(paid))
    if (credential.kind !== 'delivered') throw new Error(credential.reason)
    const parts = { clock: createFakeClock(24 * HOUR), config: { retentionMs: 24 * HOUR } }
    const { core, store } = testCore({ ...parts, delivery: jwt(hours) })
    const lots = hasLot ? lotsOf(paid, credential.expiresAt) : []
    const audit = [
      auditEntry({ ...paid, state: 'PAID' }, 'delivered', { at: 0, actor: 'gateway' }, 'DELIVERED'),
    ]
    await store.commit({
      puts: [{ table: 'challenges', row: { ...paid, result: credential.sealed } }, ...lots],
      audit,
    })
    await prune(core, (await store.get('challenges', ['a']))[0]!)
    const [{ accessEndsAt, ...row }] = (await store.get('challenges', ['a'])) as [ChallengeRow]
    if (byEarlierVersion) await store.commit({ puts: [{ table: 'challenges', row }] })
    const now = { ...core, delivery: jwt(30 * 24) }
    const wait = { challengeId: 'a', owner: { payer: PAYER, network: TESTNET.id }, deadline: 0, fresh: false }
    const outcome = await settledOutcome(now, { ...wait, responder: { kind: 'embedded' } })
    await createLotIndex(now)()
    return { accessEndsAt, outcome, lot: (await store.get('lots', ['a']))[0] }
  }

  test.each([1, 100])('is made again with the end that was sold (%d hours)', async (hours) => {
    expect(await sold(hours, false, false)).toMatchObject({
      accessEndsAt: hours * HOUR,
      outcome: { kind: 'granted', grant: { expiresAt: endOf(hours) } },
      lot: { expiresAt: hours * HOUR },
    })
  })

  test('by the version before ends when its lot does', async () => {
    expect(await sold(100, true, true)).toMatchObject({
      outcome: { kind: 'granted', grant: { expiresAt: endOf(100) } },
    })
  })

  test('by the version before, and without a lot, has ended long ago: it is not made again', async () => {
    expect(await sold(1, true, false)).toMatchObject({
      outcome: { error: { code: 'TX_ALREADY_REDEEMED', message: expect.stringContaining('no longer kept') } },
      lot: undefined,
    })
  })
})
