import { expect, test } from 'vitest'
import type { ChallengeRow, Put } from '../ports.ts'
import { NETWORKS } from '../protocol/network.ts'
import { newChallenge, termsOf } from '../rules/terms.ts'
import { createMemoryStore } from '../stores/memory.ts'
import type { Core } from './core.ts'
import { countUndelivered, createRefundCap, uncountUndelivered } from './refund-cap.ts'

const DAY_MS = 86_400_000
const payer = `0x${'aa'.repeat(20)}` as const
const resource = { method: 'GET', path: '/a', bodyHash: '' }
const route = { kind: 'route', routeId: 'a', resourceId: 'default', resource } as const
const network = NETWORKS[1]!
const price = { amount: '10', asset: network.asset, network: network.id, payTo: payer }

function paid(key: string): ChallengeRow {
  const made = { key, transport: 'http' as const, createdAt: 0, expiresAt: 1, clientAgentId: null }
  return {
    ...newChallenge(termsOf(route, price, key), made),
    state: 'PAID',
    payer,
    receipt: `receipt of ${key}`,
  }
}

function open(payerUndeliveredPerDay = 2) {
  const store = createMemoryStore()
  const alerts: string[] = []
  let nowMs = 100 * DAY_MS + 1000
  const core = {
    store,
    clock: { now: () => nowMs },
    alerts: { raise: (kind: string) => void alerts.push(kind) },
    config: { payerUndeliveredPerDay },
  } as unknown as Core
  const put = (puts: Put[]) => store.commit({ puts })
  return {
    core,
    store,
    put,
    alerts,
    cap: createRefundCap(core),
    pass: (ms: number) => (nowMs += ms),
    now: () => nowMs,
  }
}

test('a payer with as many undelivered calls as allowed is refused until the next day, and told of once', async () => {
  const { core, put, alerts, cap, pass, now } = open()
  const next = paid('next')
  for (const key of ['one', 'two']) {
    expect(await cap.refusal(next, payer)).toBeUndefined()
    await put(await countUndelivered(core, paid(key), now()))
  }
  expect(await cap.refusal(next, payer)).toMatchObject({
    code: 'RATE_LIMITED',
    details: { retryAfterSeconds: DAY_MS / 1000 - 1 },
  })
  await cap.refusal(next, payer)
  expect(alerts).toEqual(['refund-farming'])
  expect(await cap.refusal({ ...next, kind: 'plan' }, payer), 'plans are not calls').toBeUndefined()
  expect(await cap.refusal(next, `0x${'bb'.repeat(20)}`), 'another payer').toBeUndefined()
  pass(DAY_MS)
  expect(await cap.refusal(next, payer)).toBeUndefined()
})

test('a call counts once however often it fails, and no longer once a retry delivered it', async () => {
  const { core, store, put, now } = open()
  const challenge = paid('one')
  await put(await countUndelivered(core, challenge, now()))
  expect(await countUndelivered(core, challenge, now() + DAY_MS)).toEqual([])
  expect(await uncountUndelivered(core, challenge), 'never failed').toEqual([])
  const removes = await uncountUndelivered(core, { ...challenge, failure: 'the backend answered 404' })
  expect(await store.commit({ puts: [], removes })).toEqual({ kind: 'applied' })
  expect(await store.list('seen', `undelivered:${payer}:100`)).toEqual([])
  // A record of an older version has failed without being counted.
  expect(await uncountUndelivered(core, { ...challenge, failure: 'x' })).toEqual([])
})
