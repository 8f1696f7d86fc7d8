import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { AuthorizationRow, Parcelable, SimResult, Store } from '../ports.ts'
import { newChallenge, termsOf } from '../rules/terms.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { broadcast, createBroadcaster, type Sink } from './broadcast.ts'
import { createChainHead } from './chain-head.ts'
import type { Core } from './core.ts'
import { createSignals, withResolvers } from './signals.ts'

const OK: SimResult = { kind: 'ok', alone: false }
const POOR: SimResult = { kind: 'fails', reason: 'ERC20: transfer amount exceeds balance' }

/** Two claims, a chain that answers when told to, and a settlement that says what it is asked. */
async function setUp({ exclusive = true } = {}) {
  const store: Store = { ...createMemoryStore(), exclusive }
  const look = withResolvers<SimResult[]>()
  const events: string[] = []
  const clock = createFakeClock()
  const block = { number: 7, hash: '0x7' as const, timestamp: 100 }
  const core = {
    store,
    clock,
    signals: createSignals(),
    head: createChainHead({ clock, alerts: { raise() {} } }),
    config: { leaseMs: 1000, pollIntervalMs: 10 },
    alerts: { raise: (kind: string, message: string) => events.push(`${kind}: ${message}`) },
    chain: {
      head: async () => ({ latest: block, finalized: block }),
      async simulate() {
        events.push('look')
        return { at: block, results: await look.promise }
      },
    },
    settlement: {
      async pack(items: readonly Parcelable[]) {
        const what = items.map(({ key, alone }) => (alone ? `${key} alone` : key)).join('+')
        events.push(`pack ${what}`)
        return [
          {
            members: items.map(({ key }) => key),
            puts: [],
            walletTx: 'tx',
            drop: () => events.push(`drop ${what}`),
            async send() {
              events.push(`send ${what}`)
              return { kind: 'sent' as const }
            },
          },
        ]
      },
    },
  } as unknown as Core
  const attempts = [await claimed(core, 'a'), await claimed(core, 'b')]
  const sink: Sink = {
    watch: () => {},
    refused: async () => {},
    poke: () => {},
    progress: () => undefined,
  }
  return { core, events, look, attempts, sink, run: () => broadcast(core, sink, attempts) }
}

async function claimed(core: Core, key: string): Promise<AuthorizationRow> {
  const price = {
    amount: '1',
    asset: `0x${'1'.repeat(40)}`,
    network: 'eip155:1',
    payTo: `0x${'2'.repeat(40)}`,
  }
  const terms = termsOf({ kind: 'plan', planId: 'basic', resourceId: 'default' }, price as never, key)
  const times = { createdAt: 0, expiresAt: 9e15, transport: 'http', clientAgentId: null } as const
  const challenge = { ...newChallenge(terms, { key: `c-${key}`, ...times }), claimed: true, liveAuth: key }
  const auth = {
    ...{ from: `0x${'3'.repeat(40)}`, to: price.payTo, value: '1', validAfter: '0', validBefore: '999' },
    ...{ nonce: `0x${key}`, signature: '0x' },
  } as AuthorizationRow['auth']
  const row: AuthorizationRow = {
    ...{ key, version: 0, ref: challenge.key, dueAt: 1, challengeId: challenge.key, auth, saltHash: null },
    ...{ phase: 'CLAIMED', fromHeight: 0, walletTx: null, sends: 0, packLimit: null, reason: null },
  }
  const puts = [
    { table: 'challenges' as const, row: challenge },
    { table: 'authorizations' as const, row },
  ]
  await core.store.commit({ puts })
  return { ...row, version: 1 }
}

test('the embedded store packs while the chain looks, and sends what it packed', async () => {
  const { run, look, events } = await setUp()
  const running = run()
  await expect.poll(() => events).toEqual(['look', 'pack a+b'])
  look.resolve([OK, OK])
  expect([...(await running).values()]).toEqual([{ kind: 'broadcast' }, { kind: 'broadcast' }])
  expect(events).toEqual(['look', 'pack a+b', 'send a+b'])
})

test.each<[string, SimResult, string]>([
  ['refuses one', POOR, 'pack a'],
  ['wants one alone', { kind: 'ok', alone: true }, 'pack a+b alone'],
])('where the chain %s, what was packed is dropped before it is packed anew', async (_, second, anew) => {
  const { core, run, look, events } = await setUp()
  look.resolve([OK, second])
  const looked = await run()
  expect(events).toEqual(['look', 'pack a+b', 'drop a+b', anew, anew.replace('pack', 'send')])
  const [, b] = await core.store.get('authorizations', ['a', 'b'])
  expect([looked.get('b')?.kind, b?.phase]).toEqual(
    second === POOR ? ['released', 'RELEASED'] : ['broadcast', 'BROADCAST'],
  )
})

test('a claim that was never sent is forgotten within the hour', async () => {
  const { core, run, look } = await setUp()
  look.resolve([POOR, POOR])
  await run()
  const rows = await core.store.get('authorizations', ['a', 'b'])
  for (const row of rows) {
    expect(row!.dueAt! - core.clock.now()).toBeGreaterThan(20 * 60_000)
    expect(row!.dueAt! - core.clock.now()).toBeLessThanOrEqual(60 * 60_000)
  }
})

test('where the chain cannot be asked, what was packed is dropped and the claims go back', async () => {
  const { core, run, events } = await setUp()
  core.chain.simulate = () => Promise.reject(new Error('unreachable'))
  expect([...(await run()).values()].map(({ kind }) => kind)).toEqual(['released', 'released'])
  expect(events).toEqual(['pack a+b', 'drop a+b'])
})

test('where others wait for their turn with the wallet, it is packed after the look', async () => {
  const { run, look, events } = await setUp({ exclusive: false })
  const running = run()
  await nextTurn()
  expect(events).toEqual(['look'])
  look.resolve([OK, OK])
  await running
  expect(events).toEqual(['look', 'pack a+b', 'send a+b'])
})

test('of a claim that waited until it lapsed, and was made again, only the newest is sent', async () => {
  const { core, attempts, sink, look, events } = await setUp({ exclusive: false })
  const [a, b] = attempts as [AuthorizationRow, AuthorizationRow]
  const broadcaster = createBroadcaster(core, sink)
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
  expect(events).toEqual(['look', 'pack a', 'send a', 'look', 'pack b', 'send b'])
})
