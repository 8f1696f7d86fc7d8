import { expect, test } from 'vitest'
import type { AuthorizationRow, ChallengeRow, Put } from '../ports.ts'
import { NETWORKS } from '../protocol/network.ts'
import { newChallenge, termsOf } from '../rules/terms.ts'
import { createMemoryStore } from '../stores/memory.ts'
import type { Core } from './core.ts'
import { DAY_MS, putHold, reviewHold, settleHolds } from './holds.ts'
import { countUndelivered, holdUndelivered, refuseUndelivered } from './refund-cap.ts'

const payer = `0x${'aa'.repeat(20)}` as const
const resource = { method: 'GET', path: '/a', bodyHash: '' }
const route = { kind: 'route', routeId: 'a', resourceId: 'default', resource } as const
const network = NETWORKS[1]!
const price = { amount: '10', asset: network.asset, network: network.id, payTo: payer }

function challengeOf(key: string): ChallengeRow {
  const made = { key, transport: 'http' as const, createdAt: 0, expiresAt: 1, clientAgentId: null }
  return newChallenge(termsOf(route, price, key), made)
}

function open(payerUndeliveredPerDay = 2) {
  const store = createMemoryStore()
  const alerts: string[] = []
  let nowMs = 100 * DAY_MS + 1000
  let drawn = 0
  const core = {
    store,
    clock: { now: () => nowMs },
    random: { bytes: (length: number) => new Uint8Array(length).fill(++drawn) },
    alerts: { raise: (kind: string) => void alerts.push(kind) },
    told: new Set(),
    signals: { notify: () => {} },
    config: { payerUndeliveredPerDay },
  } as unknown as Core
  const put = (puts: Put[]) => store.commit({ puts })
  /** A claim with its hold, both stored. */
  async function claim(key: string, from: typeof payer = payer) {
    const hold = holdUndelivered(core, challengeOf(key), from)!
    await put([putHold(hold)])
    const auth = { from } as AuthorizationRow['auth']
    const attempt = {
      key,
      challengeId: key,
      phase: 'CLAIMED',
      auth,
      undelivered: hold.key,
    } as AuthorizationRow
    const challenge: ChallengeRow = { ...challengeOf(key), payer: from, undelivered: hold.key, liveAuth: key }
    return { attempt, challenge, hold: hold.key }
  }
  const stored = () => store.list('holds', `undelivered:${payer}:100`)
  return { core, store, put, alerts, claim, stored, pass: (ms: number) => (nowMs += ms) }
}

test('of many calls at once only as many are sent as may stay undelivered; the others may wait for them', async () => {
  const { core, claim } = open()
  const claims = await Promise.all(['one', 'two', 'three', 'four'].map((key) => claim(key)))
  const refused = await refuseUndelivered(
    core,
    claims.map(({ attempt }) => attempt),
  )
  expect(refused.size).toBe(2)
  for (const { later, error } of refused.values()) {
    expect(later).toBe(true)
    expect(error.code).toBe('RATE_LIMITED')
  }
  // Another instance sees those of this one, and lets none of its own pass.
  const [other] = await Promise.all([claim('five')])
  expect((await refuseUndelivered(core, [other!.attempt])).get('five')).toMatchObject({ later: true })
})

test('a payer with as many undelivered calls as allowed is refused until the next day, and told of once', async () => {
  const { core, put, alerts, claim, pass } = open()
  for (const key of ['one', 'two']) {
    const { challenge } = await claim(key)
    await put((await countUndelivered(core, challenge)).puts)
  }
  const next = await claim('next')
  expect((await refuseUndelivered(core, [next.attempt])).get('next')).toMatchObject({
    later: false,
    error: { code: 'RATE_LIMITED', details: { retryAfterSeconds: DAY_MS / 1000 - 1 } },
  })
  await refuseUndelivered(core, [next.attempt])
  expect(alerts).toEqual(['refund-farming'])
  const other = await claim('another payer', `0x${'bb'.repeat(20)}`)
  expect((await refuseUndelivered(core, [other.attempt])).size).toBe(0)
  expect(
    holdUndelivered(core, { ...next.challenge, kind: 'plan' }, payer),
    'plans are no calls',
  ).toBeUndefined()
  pass(DAY_MS)
  const tomorrow = await claim('tomorrow')
  expect((await refuseUndelivered(core, [tomorrow.attempt])).size).toBe(0)
})

test('a call counts once however often it fails, and no longer once a retry delivered it', async () => {
  const { core, put, claim, stored } = open()
  const { challenge, hold } = await claim('one')
  await put((await countUndelivered(core, challenge)).puts)
  expect((await countUndelivered(core, challenge)).puts).toEqual([])
  expect(await stored()).toMatchObject([{ key: hold, spent: true }])
  await settleHolds(core, [hold], 'returned')
  expect(await stored()).toEqual([])
  // A plain transfer is never claimed: it is counted when it fails.
  const { undelivered: _, ...plain } = challenge
  const counted = await countUndelivered(core, plain)
  await put(counted.puts)
  expect(await stored()).toMatchObject([{ key: counted.change.undelivered, spent: true }])
})

test('what a crash left held is settled by what became of the call', async () => {
  const { core, store, put, claim, stored } = open()
  const cases: Array<[string, Partial<ChallengeRow>, boolean[]]> = [
    ['in flight', {}, [false]],
    ['being delivered', { state: 'PAID', liveAuth: null }, [false]],
    ['delivered', { state: 'DELIVERED', liveAuth: null }, []],
    ['given up', { liveAuth: null }, []],
    ['refunded', { state: 'REFUNDED', liveAuth: null }, [true]],
  ]
  for (const [what, change, left] of cases) {
    const { challenge, hold } = await claim(what)
    await put([{ table: 'challenges', row: { ...challenge, ...change } }])
    const [row] = await store.get('holds', [hold])
    await reviewHold(core, row!)
    expect(
      (await stored()).map(({ spent }) => spent),
      what,
    ).toEqual(left)
    await settleHolds(core, [hold], 'returned')
  }
  const { hold } = await claim('forgotten')
  const [row] = await store.get('holds', [hold])
  await reviewHold(core, row!)
  expect(await stored(), 'its challenge is gone').toEqual([])
})
