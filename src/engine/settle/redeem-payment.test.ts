import { describe, expect, test } from 'vitest'
import { testPorts } from '../../../test/engine/test-core.ts'
import { testPayment } from '../../../test/engine/test-payment.ts'
import { MAINNET, mustNotBeAsked, testRail } from '../../../test/engine/test-rail.ts'
import { BASIC_PLAN, PAYER, testAttempt, testChallenge } from '../../../test/engine/test-rows.ts'
import type { AuthorizationRow, ChallengeRow, Signed } from '../../ports.ts'
import type { AccessGrant } from '../../protocol/access.ts'
import type { Address } from '../../protocol/hex.ts'
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
    termsOf(BASIC_PLAN, '1000000', generated, 0),
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

test.each<[string, Partial<ChallengeRow> | undefined, RegExp]>([
  [
    'is not stored',
    undefined,
    /nothing was charged now\. .* no record of an earlier payment .* do not pay again/,
  ],
  ['has no payment', { claimed: false }, /nothing was charged now\. .* no record of an earlier payment/],
  ['had a payment that failed', { claimed: true }, /nothing was charged\. Ask for a new challenge\.$/],
])(
  'what is too late for a challenge that %s is told only what the store knows: it may have lost a sale',
  async (_, known, expected) => {
    const { ports, config } = testPorts({ clock: createFakeClock(1_000_000) })
    const row = testChallenge({ ...selfProving, amount: '1000000', expiresAt: EXPIRES_AT, ...known })
    if (known) await ports.store.commit({ puts: [{ table: 'challenges', row }] })
    const echo = { challengeId: row.key, requestId: generated, planId: 'basic', resourceId: 'default' }
    const payment = testPayment({ echo })
    const outcome = await createEngine(ports, config).purchase({
      transport: 'http',
      planId: 'basic',
      payment,
    })
    expect(outcome).toMatchObject({
      error: { code: 'CHALLENGE_EXPIRED', message: expect.stringMatching(expected) },
    })
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

describe('a used payment that comes without the salt of its 402', () => {
  const key = 'http-known'
  const payment = testPayment({ echo: { challengeId: key } })

  async function refusalOf(
    { phase = 'CONFIRMED', saltHash = 'of another salt', ...row }: Partial<ChallengeRow & AuthorizationRow>,
    echo: Payment['echo'],
  ) {
    const { ports, config } = testPorts({ clock: createFakeClock(500_000) })
    const known = { key, requestId: 'r-1', expiresAt: EXPIRES_AT, state: 'DELIVERED' as const, ...row }
    const attempt = testAttempt({ key: payment.key, challengeId: key, phase, saltHash })
    await ports.store.commit({
      puts: [
        { table: 'challenges', row: testChallenge(known) },
        { table: 'authorizations', row: attempt },
      ],
    })
    const asked = { transport: 'http' as const, planId: 'basic', payment: { ...payment, echo } }
    const outcome = await createEngine(ports, config).purchase(asked)
    if (outcome.kind !== 'failed') throw new Error(outcome.kind)
    const { code, message, details } = outcome.error
    return { text: `${code} ${message}`, told: details.challengeId }
  }

  test('fetches nothing, and is promised an uncharged authorization only for what is paid', async () => {
    for (const state of ['DELIVERED', 'PENDING'] as const) {
      const phase = state === 'PENDING' ? 'DEAD' : 'CONFIRMED'
      const { text } = await refusalOf({ state, phase }, { challengeId: key })
      expect(text).toMatch(
        /^TX_ALREADY_REDEEMED .* resend the original payload unchanged, with its `accepted`/,
      )
      expect(text.includes('it is not charged')).toBe(state === 'DELIVERED')
    }
  })

  test('tells its challenge only to who names it: whoever copied it from the chain does not see what was bought', async () => {
    for (const phase of ['CONFIRMED', 'BROADCAST'] as const) {
      expect((await refusalOf({ phase }, { challengeId: key })).told).toBe(key)
      const { text, told } = await refusalOf({ phase }, {})
      expect(told).toBeUndefined()
      expect(text).not.toContain(key)
      expect((await refusalOf({ phase }, { planId: 'other' })).told).toBeUndefined()
    }
  })

  test('and was paid without one is told how to fetch the result instead of to send it again', async () => {
    const { text, told } = await refusalOf({ saltHash: null }, {})
    expect(told).toBe(key)
    expect(text).toMatch(
      /sign a new authorization with accepted\.extra\.challengeId http-known: it is not charged/,
    )
    expect(text).not.toContain('resend')
  })

  test('that belongs to another request names that instead of how to pay again', async () => {
    const { text } = await refusalOf({ requestId: 'r-1' }, { challengeId: key, requestId: 'r-2' })
    expect(text).toMatch(
      /^TX_ALREADY_REDEEMED This payment belongs to another request \(challenge http-known\)/,
    )
    expect(text).not.toContain('sign')
  })
})

describe('a payment on a network whose gas is too dear', () => {
  const block = { number: 1, hash: '0x1', timestamp: 1 } as const
  const head = async () => ({ latest: block, finalized: block })
  const verify = async (signed: Signed) => ({ signed, byKey: true })
  const unused = async (payments: readonly Signed[]) => ({
    at: block,
    results: payments.map(() => ({ kind: 'ok' as const, alone: false })),
  })
  const able = { unavailable: async () => undefined }
  const preferred = testRail({ settlement: able, chain: { head } })
  const dear = testRail({
    network: MAINNET,
    settlement: { ...able, gasPriceWei: async () => 10n ** 15n },
    chain: { head },
    scheme: { verify, simulate: unused },
  })

  const grant: AccessGrant = {
    ...{ type: 'AccessGrant', challengeId: selfProving.key, requestId: generated, accessToken: 'token' },
    ...{ tokenType: 'Bearer', resourceEndpoint: '/', resourceId: 'default', planId: 'basic' },
    ...{ txHash: '0x1', explorerUrl: '/' },
  }
  const open = async () => grant

  /** Pays by `dear`, a rail that the offer of this challenge may have named. */
  async function pay(stored: Partial<ChallengeRow> | undefined, change: Partial<AuthorizationRow> = {}) {
    const clock = createFakeClock(500_000)
    const { ports, config } = testPorts({
      ...{ clock, rails: [preferred, dear], config: { maxGasShare: 0.5 } },
      delivery: { instant: true, deliver: mustNotBeAsked, open, expiryOf: () => null },
    })
    const engine = createEngine(ports, config)
    await engine.start()
    const row = testChallenge({ ...selfProving, amount: '1000000', expiresAt: EXPIRES_AT, ...stored })
    const attempt = { key: 'rival', challengeId: row.key, phase: 'BROADCAST', ...change } as const
    const rival = testAttempt(attempt, preferred)
    if (stored) {
      await ports.store.commit({
        puts: [
          { table: 'challenges', row },
          { table: 'authorizations', row: rival },
        ],
      })
    }
    const echo = {
      ...{ challengeId: row.key, requestId: generated, planId: 'basic', resourceId: 'default' },
    }
    const payment = testPayment({ echo }, dear)
    const answered = engine.purchase({ transport: 'http', planId: 'basic', payment })
    await clock.advance(2000)
    const outcome = await answered
    await engine.stop()
    return outcome
  }

  test('is refused where nothing was paid', async () => {
    const outcome = await pay(undefined)
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'PAYMENT_FAILED' } })
  })

  test('waits where another payment of the challenge is in flight: it would never be sent', async () => {
    const outcome = await pay({ liveAuth: 'rival', claimed: true })
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'SETTLEMENT_PENDING' } })
  })

  test.each<[string, Partial<AuthorizationRow>]>([
    ['can never pay', { phase: 'DEAD' }],
    ['another challenge has claimed', { challengeId: 'http-another', payer: '0xother' as Address }],
  ])(
    'does not wait for a payment that %s: a store that lost commits may still name it',
    async (_, change) => {
      const outcome = await pay({ liveAuth: 'rival', claimed: true }, change)
      // It is judged as if there were no other payment: its gas is too dear.
      expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'PAYMENT_FAILED' } })
    },
  )

  test('waits for a payment that is not stored: it may have been sent', async () => {
    const outcome = await pay({ liveAuth: 'rival', claimed: true }, { key: 'another' })
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'SETTLEMENT_PENDING' } })
  })

  test('gets the result where its payer has paid the challenge', async () => {
    const paid = {
      state: 'DELIVERED',
      payer: PAYER,
      paidByKey: true,
      receipt: 'r',
      result: 'sealed',
    } as const
    const outcome = await pay({ ...paid, claimed: true, paidAt: 1, txHash: '0x1' })
    expect(outcome).toMatchObject({ kind: 'granted', grant, cached: true })
  })
})

test('a payment that only an empty wallet of ours may send is refused unclaimed, and the rail stays on offer', async () => {
  const block = { number: 1, hash: '0x1', timestamp: 1 } as const
  const head = async () => ({ latest: block, finalized: block })
  const verify = async (signed: Signed) => ({ signed, byKey: true })
  const asked: unknown[] = []
  const settlement = {
    async unavailable(sender?: string) {
      asked.push(sender)
      return sender === '0xlow' ? 'the gas wallet is empty' : undefined
    },
  }
  const { scheme } = testRail()
  const factsOf = (signed: Signed) => ({ ...scheme.factsOf(signed), sender: '0xlow' as const })
  const preferred = testRail({ settlement, chain: { head }, scheme: { verify, factsOf } })
  const other = testRail({ network: MAINNET, settlement, chain: { head } })
  const { ports, config } = testPorts({ clock: createFakeClock(500_000), rails: [preferred, other] })
  const engine = createEngine(ports, config)
  const row = testChallenge({ key: 'http-known', requestId: 'r-1', amount: '1000000', expiresAt: EXPIRES_AT })
  await ports.store.commit({ puts: [{ table: 'challenges', row }] })
  const echo = { challengeId: 'http-known', requestId: 'r-1', planId: 'basic', resourceId: 'default' }
  const payment = testPayment({ echo }, preferred)
  expect(await engine.purchase({ transport: 'http', planId: 'basic', payment })).toMatchObject({
    kind: 'failed',
    error: { code: 'SETTLEMENT_PENDING', message: expect.stringContaining('the gas wallet is empty') },
  })
  expect(asked).toEqual([undefined, '0xlow'])
  expect(await ports.store.get('authorizations', [payment.key])).toEqual([undefined])
  expect(engine.rails().map(({ withdrawn }) => withdrawn)).toEqual([null, null])
})

test('a challenge of which too many payments failed takes no more: it is over, and its request opens another', async () => {
  const block = { number: 1, hash: '0x1', timestamp: 1 } as const
  const scheme = { verify: async (signed: Signed) => ({ signed, byKey: true }) }
  const chain = { head: async () => ({ latest: block, finalized: block }) }
  const rail = testRail({ scheme, chain })
  const { ports, config } = testPorts({ clock: createFakeClock(500_000), rails: [rail] })
  const row = testChallenge({ ...named, amount: '1000000', expiresAt: EXPIRES_AT, claimed: true, tries: 20 })
  await ports.store.commit({ puts: [{ table: 'challenges', row }] })
  const engine = createEngine(ports, config)
  const echo = { challengeId: row.key, requestId: 'r-1', planId: 'basic', resourceId: 'default' }
  const payment = testPayment({ echo }, rail)
  const pay = () => engine.purchase({ transport: 'http', planId: 'basic', payment })
  expect(await pay()).toMatchObject({
    kind: 'failed',
    error: {
      code: 'CHALLENGE_EXPIRED',
      message: expect.stringMatching(/takes no more payments, .* nothing was charged/),
    },
  })
  const [stored] = await ports.store.get('challenges', [row.key])
  expect(stored?.state, 'what lands later goes back').toBe('EXPIRED')
  expect(await pay(), 'and later').toMatchObject({
    error: { message: expect.stringContaining('takes no more payments') },
  })
  const again = await engine.purchase({ transport: 'http', planId: 'basic', requestId: 'r-1' })
  expect(again.kind === 'challenge' && again.offer.challengeId).toMatch(/^http-(?!known)/)
})
