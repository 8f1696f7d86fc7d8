import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt, testChallenge } from '../../../test/engine/test-rows.ts'
import type { Rail, Sent, Store, WalletTxRow } from '../../ports.ts'
import { DAY_MS } from '../../protocol/duration.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { holdGas, settleGas } from '../budgets/gas-budget.ts'
import { withResolvers } from '../signals.ts'
import { broadcast } from './broadcast.ts'
import { createResolver } from './resolve.ts'

const BLOCK = { number: 7, hash: '0x7', timestamp: 100 * 86_400 } as const
const VALID = String(BLOCK.timestamp + 600)
const GAS_PRICE = 1_000_000_000_000_000n

/** A rail whose payments pass every look, of which the chain shows nothing, and whose sends are noted. */
function railWith(send: () => Promise<Sent>, settlement: Partial<Rail['settlement']> = {}) {
  return testRail({
    chain: { head: async () => ({ latest: BLOCK, finalized: BLOCK }) },
    scheme: {
      uses: async () => ({ at: BLOCK, found: [], mined: [] }),
      simulate: async (payments) => ({
        at: BLOCK,
        results: payments.map(() => ({ kind: 'ok' as const, alone: false })),
      }),
    },
    settlement: {
      unavailable: async () => undefined,
      makeBatches: async (items) =>
        items.map(({ member }) => ({
          ...{ keys: [member.key], puts: [], send, drop: () => {} },
          walletTx: settlement.gasWallet === undefined ? null : 'tx2',
        })),
      ...settlement,
    },
  })
}

const attemptOf = async (store: Store) => (await store.get('authorizations', ['a']))[0]!

test('a first send that is refused after the payment was sent a second time does not end it', async () => {
  const clock = createFakeClock(100 * DAY_MS)
  const sends: Array<ReturnType<typeof withResolvers<Sent>>> = []
  const rail0 = railWith(() => {
    sends.push(withResolvers<Sent>())
    return sends.at(-1)!.promise
  })
  const config = { leaseMs: 10_000, pollIntervalMs: 100 }
  const { core, rail, store } = testCore({ rails: [rail0], clock, config })
  const base = testAttempt({ key: 'a', challengeId: 'c', dueAt: 1 })
  const attempt = { ...base, auth: { ...base.auth, validBefore: VALID } }
  const challenge = testChallenge({ key: 'c', expiresAt: 9e15, claimed: true, liveAuth: 'a' })
  await store.commit({
    puts: [
      { table: 'challenges', row: challenge },
      { table: 'authorizations', row: attempt },
    ],
  })
  const resolver = createResolver(core, rail)
  await broadcast(core, rail, resolver, [{ ...attempt, version: 1 }])
  // A facilitator may take longer than the lease: a job takes the attempt over, and sends it again.
  await clock.advance(10_001)
  await resolver.adopt(await store.takeDue('authorizations', clock.now(), clock.now() + 10_000, 10))
  expect(sends).toHaveLength(2)
  // It was simulated after the second request had used the nonce.
  sends[0]!.resolve({ kind: 'refused', reason: 'simulation_failed' })
  await clock.advance(1)
  resolver.stop()
  expect(await attemptOf(store)).toMatchObject({ phase: 'BROADCAST', sends: 2 })
  expect((await store.get('challenges', ['c']))[0]).toMatchObject({ liveAuth: 'a' })
})

test('an attempt that must be sent anew, of a payer without gas budget, ends and is not sent', async () => {
  const clock = createFakeClock(100 * DAY_MS)
  let sent = 0
  const rail0 = railWith(
    async () => {
      sent++
      return { kind: 'sent' }
    },
    { gasWallet: '0x1', gasPriceWei: async () => GAS_PRICE },
  )
  const lostGasPerDay = { perPayer: 60_000_000, inAll: 1e12 }
  const config = { pollIntervalMs: 100, leaseMs: 10_000, lostGasPerDay }
  const { core, rail, store } = testCore({ rails: [rail0], clock, config })
  const base = testAttempt({ key: 'a', challengeId: 'c', phase: 'BROADCAST', walletTx: 'tx1', sends: 1 })
  const attempt = { ...base, dueAt: clock.now() + 10_000, auth: { ...base.auth, validBefore: VALID } }
  const failed = testAttempt({ key: 'b', challengeId: 'd', payer: attempt.payer, walletTx: 't0' })
  const replaced = {
    ...{ key: 'tx1', version: 0, ref: null, dueAt: null, chainId: rail.network.chainId, wallet: '0x1' },
    ...{ nonce: 1, calls: [], members: [{ kind: 'payment', key: 'a' }], maxFeePerGas: '1', gas: 1 },
    ...{ maxPriorityFeePerGas: '1', raw: '0x', hashes: ['0x1'], phase: 'REPLACED', createdAt: 0 },
  } as WalletTxRow
  const challenge = testChallenge({ key: 'c', expiresAt: 9e15, claimed: true, liveAuth: 'a' })
  await store.commit({
    puts: [
      { table: 'challenges', row: challenge },
      { table: 'authorizations', row: attempt },
      { table: 'authorizations', row: failed },
      { table: 'walletTxs', row: replaced },
    ],
  })
  const place = await core.payers.enter(attempt.payer, rail.network.chainId, 10, clock.now() + 1000)
  if ('fail' in place) place.fail()
  const { held } = await holdGas(core, rail, [{ row: { ...failed, version: 1 }, alone: false }])
  await settleGas(
    core,
    held.map(({ row }) => row),
    'spent',
  )
  const resolver = createResolver(core, rail)
  resolver.watch([{ ...attempt, version: 1 }])
  await expect
    .poll(async () => {
      await clock.advance(100)
      return (await attemptOf(store)).phase
    })
    .toBe('ABANDONED')
  resolver.stop()
  expect(sent).toBe(0)
})
