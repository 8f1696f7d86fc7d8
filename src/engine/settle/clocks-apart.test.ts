import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { testPorts } from '../../../test/engine/test-core.ts'
import { testPayment } from '../../../test/engine/test-payment.ts'
import { testRail } from '../../../test/engine/test-rail.ts'
import { PAYER } from '../../../test/engine/test-rows.ts'
import type { Rail, RouteCall } from '../../ports.ts'
import { buildCatalog } from '../../rules/catalog.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import type { Ports } from '../core.ts'
import { createEngine } from '../engine.ts'
import type { Intent, Outcome } from '../outcome.ts'

const START = 1_750_000_000_000
const SETTLE_WAIT_MS = 30_000
const block = { number: 9, hash: '0xb9', timestamp: START / 1000 } as const
const verified: Partial<Rail['scheme']> = {
  verify: async (signed) => ({ signed, byKey: true }),
  validityFault: () => undefined,
}
const chain = { head: async () => ({ latest: block, finalized: block }) }

/** Pays on one instance, while another one, whose clock is so much ahead, runs its jobs every second. */
async function payBeside(
  aheadMs: number,
  { clock, rail, ...parts }: { clock: FakeClock; rail: Rail } & Partial<Ports>,
  asked: Omit<Intent, 'transport' | 'requestId'>,
  catalog = buildCatalog([{ planId: 'basic', unitAmount: '$1.00' }]),
) {
  const times = { leaseMs: 10_000, deliveryLeaseMs: 60_000, settleWaitMs: SETTLE_WAIT_MS }
  const { ports, config } = testPorts({
    clock,
    rails: [testRail(), rail],
    ...parts,
    config: { catalog, ...times },
  })
  const engine = createEngine(ports, config)
  const other = createEngine({ ...ports, clock: { ...clock, now: () => clock.now() + aheadMs } }, config)
  const intent = { transport: 'http' as const, requestId: 'r-1', ...asked }
  // This payer has paid for a metered call before, so that its answers may go out as they come.
  const mark = {
    key: `paid-metered/${rail.network.chainId}/${PAYER}`,
    version: 0,
    ref: null,
    dueAt: null,
    value: 1,
  }
  await ports.store.commit({ puts: [{ table: 'marks', row: mark }] })
  const unpaid = await engine.purchase(intent)
  if (unpaid.kind !== 'challenge') throw new Error(`not offered: ${JSON.stringify(unpaid)}`)
  const payment = testPayment({ rail: rail.id, echo: { challengeId: unpaid.offer.challengeId } }, rail)
  let outcome: Outcome | undefined
  void engine.purchase({ ...intent, payment }).then((decided) => {
    outcome = decided
  })
  let waitedMs = 0
  for (; waitedMs < 900_000 && !outcome; waitedMs += 1000) {
    for (let step = 0; step < 20; step++) await turn()
    await other.runJobs()
    await clock.advance(1000)
  }
  return { outcome, waitedMs, store: ports.store }
}

/** A call of so many milliseconds for at most a dollar; the backend says that it cost nothing. */
async function callBeside(aheadMs: number, callMs: number, streams = false) {
  const clock = createFakeClock(START)
  const rail = testRail({
    id: 'eip155:84532/upto',
    scheme: {
      ...verified,
      name: 'upto',
      simulate: async (payments) => {
        const result = { kind: 'ok' as const, alone: true, plain: true, funds: '99999999' }
        return { at: block, results: payments.map(() => result) }
      },
      metered: { charged: (signed) => signed },
      factsOf: (signed) => ({ ...testRail().scheme.factsOf(signed), validBefore: '9999999999' }),
    },
    chain,
    settlement: { unavailable: async () => undefined },
  })
  let calls = 0
  const backend: Ports['backend'] = {
    async call(_order, { stream }: RouteCall) {
      calls++
      stream?.begin('c', { status: 200, headers: [] })
      await clock.sleep(callMs)
      const response = { status: 200 }
      return { ok: true, sealed: 'sealed', response, charge: { kind: 'amount', amount: '0' } } as never
    },
    open: async () => ({ response: { status: 200 } }) as never,
  }
  const limits = { maxUnpaidPerPayer: '$1.00', maxUnpaid: '$1.00' }
  const route = {
    routeId: 'chat',
    method: 'POST',
    path: '/chat',
    scheme: 'upto',
    maxAmount: '$1.00',
  } as const
  const catalog = buildCatalog([], [{ ...route, ...(streams && { raw: true, stream: limits }) }])
  let hasBegun = false
  const stream = {
    get hasBegun() {
      return hasBegun
    },
    begin: () => {
      hasBegun = true
    },
    write: () => {},
    end: () => {},
  }
  const call = { method: 'POST', path: '/chat', headers: {}, body: null, ...(streams && { stream }) }
  const paid = await payBeside(aheadMs, { clock, rail, backend }, { routeId: 'chat', call } as never, catalog)
  const day = Math.floor(START / 86_400_000)
  const holds = await paid.store.list('holds', `streamed:${rail.network.chainId}:chat:all:${day}`)
  return { ...paid, calls, hasBegun, holds }
}

/** A sale whose payment is looked at for two seconds, as by a node that takes few calls. */
async function buyBeside(aheadMs: number) {
  const clock = createFakeClock(START)
  const hash = `0x${'7a'.repeat(32)}` as const
  const rail = testRail({
    chain,
    scheme: {
      ...verified,
      simulate: async (payments) => {
        await clock.sleep(2000)
        return { at: block, results: payments.map(() => ({ kind: 'ok' as const, alone: false })) }
      },
      uses: async (keys) => ({
        at: block,
        mined: [],
        found: keys.map((key) => ({
          ...{ kind: 'transfer' as const, key, txHash: hash, block, logIndex: 1 },
          ...{ from: PAYER, to: rail.payTo, value: '1000000' },
        })),
      }),
    },
    settlement: {
      unavailable: async () => undefined,
      makeBatches: async (items) =>
        items.map(({ member }) => ({
          ...{ keys: [member.key], puts: [], walletTx: null, drop: () => {} },
          send: async () => ({ kind: 'sent' as const }),
        })),
    },
  })
  const delivery: Ports['delivery'] = {
    instant: true,
    deliver: async () => ({ kind: 'delivered', sealed: 'x', expiresAt: null }),
    open: async () => ({ accessToken: 't' }) as never,
    expiryOf: () => null,
  }
  return payBeside(aheadMs, { clock, rail, delivery, rails: [rail] }, { planId: 'basic' })
}

const pending = { kind: 'failed', error: { code: 'SETTLEMENT_PENDING' } }

describe('an instance whose clock is ahead by more than a lease releases claims that are worked on', () => {
  test('with equal clocks each is answered at its first try', async () => {
    expect(await buyBeside(0)).toMatchObject({ outcome: { kind: 'granted' } })
    expect(await callBeside(0, 20_000)).toMatchObject({ calls: 1, outcome: { kind: 'resource' } })
  })

  test('a sale is answered within the time that a request waits', async () => {
    const { outcome, waitedMs } = await buyBeside(15_000)
    expect(outcome).toMatchObject(pending)
    expect(waitedMs).toBeLessThanOrEqual(SETTLE_WAIT_MS + 5000)
  })

  test.each([20_000, 3_000])('a metered call of %d ms is made once by one request', async (callMs) => {
    const { calls, outcome } = await callBeside(120_000, callMs)
    expect(calls).toBe(1)
    expect(outcome).toMatchObject(pending)
  })

  test('what was read of an answer that streamed counts among the losses of the day', async () => {
    const { hasBegun, holds } = await callBeside(120_000, 20_000, true)
    expect(hasBegun).toBe(true)
    expect(holds).toMatchObject([{ spent: true }])
  })
})
