import { expect, test } from 'vitest'
import { testPorts } from '../../../test/engine/test-core.ts'
import { testPayment } from '../../../test/engine/test-payment.ts'
import { MAINNET, testRail } from '../../../test/engine/test-rail.ts'
import { BASIC_PLAN, testChallenge } from '../../../test/engine/test-rows.ts'
import type { Signed } from '../../ports.ts'
import { CHALLENGE_RANDOM_BYTES, makeChallengeId } from '../../rules/challenge-id.ts'
import { termsOf } from '../../rules/terms.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createEngine } from '../engine.ts'
import type { Payment } from '../outcome.ts'

const EXPIRES_AT = 999_000
const { config } = testPorts()
const named = { requestId: 'r-1', key: 'http-known' }
const generated = `req-${'a'.repeat(22)}`
const random = new Uint8Array(CHALLENGE_RANDOM_BYTES)
/** Its id proves its terms, so the engine may skip looking it up; here it is stored all the same. */
const selfProving = {
  requestId: generated,
  key: makeChallengeId(
    config.idKeys[0]!,
    'http',
    EXPIRES_AT,
    random,
    termsOf(BASIC_PLAN, '1000000', generated),
  ),
}
test.each([named, selfProving])(
  '410 is answered only after EXPIRED is stored, so that money that lands later is refunded: $key',
  async ({ requestId, key }) => {
    const { ports, config } = testPorts({ clock: createFakeClock(1_000_000) })
    const row = testChallenge({ key, requestId, amount: '1000000', expiresAt: EXPIRES_AT, claimed: true })
    await ports.store.commit({ puts: [{ table: 'challenges', row }] })
    const engine = createEngine(ports, config)
    const echo = { challengeId: key, requestId, planId: 'basic', resourceId: 'default' }
    const payment = testPayment({ echo })
    const outcome = await engine.purchase({ transport: 'http', planId: 'basic', payment })
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'CHALLENGE_EXPIRED' } })
    const [stored] = await ports.store.get('challenges', [key])
    expect(stored?.state).toBe('EXPIRED')
  },
)

test('a payment on a withdrawn rail is checked, and refused unclaimed unless the rail has become able', async () => {
  const block = { number: 1, hash: '0x1', timestamp: 1 } as const
  let chainIsDown = true
  const head = async () => {
    if (chainIsDown) throw new Error('down')
    return { latest: block, finalized: block }
  }
  const verify = async (signed: Signed) => ({ signed, byKey: true })
  // A facilitator never says that it cannot settle, so only the chain tells.
  const settlement = { unavailable: async () => undefined }
  const simulated: number[] = []
  const simulate = async (payments: readonly Signed[]) => {
    simulated.push(payments.length)
    return { at: block, results: payments.map(() => ({ kind: 'fails' as const, reason: 'no money' })) }
  }
  const preferred = testRail({
    settlement,
    chain: { head: async () => ({ latest: block, finalized: block }) },
  })
  const other = testRail({ network: MAINNET, settlement, chain: { head }, scheme: { verify, simulate } })
  const { ports, config } = testPorts({ clock: createFakeClock(500_000), rails: [preferred, other] })
  const engine = createEngine(ports, config)
  await engine.start()
  expect(engine.rails().map(({ withdrawn }) => withdrawn?.reason)).toEqual([
    undefined,
    'the chain cannot be reached',
  ])
  const row = testChallenge({ key: 'http-known', requestId: 'r-1', amount: '1000000', expiresAt: EXPIRES_AT })
  await ports.store.commit({ puts: [{ table: 'challenges', row }] })
  const echo = { challengeId: 'http-known', requestId: 'r-1', planId: 'basic', resourceId: 'default' }
  const pay = (change: Partial<Payment> = {}) =>
    engine.purchase({
      transport: 'http',
      planId: 'basic',
      payment: { ...testPayment({ echo }, other), ...change },
    })
  const wrong = [{ about: 'amount' as const, field: 'authorization.value', value: '1' }]
  expect(await pay({ claims: wrong }), 'it is checked first').toMatchObject({
    error: { code: 'AMOUNT_MISMATCH' },
    offer: { rails: [{ id: preferred.id }] },
  })
  expect(await pay()).toMatchObject({ kind: 'failed', error: { code: 'SETTLEMENT_PENDING' } })
  expect(await ports.store.get('authorizations', [testPayment({}, other).key])).toEqual([undefined])
  chainIsDown = false
  expect(await pay()).toMatchObject({
    error: { code: 'PAYMENT_FAILED' },
    settled: { network: MAINNET.id },
    offer: { rails: [{ id: preferred.id }, { id: other.id }] },
  })
  expect(simulated).toContain(1)
  await engine.stop()
})
