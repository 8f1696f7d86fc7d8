import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testRail } from '../../../test/engine/test-rail.ts'
import { PAYER, testAttempt, testChallenge } from '../../../test/engine/test-rows.ts'
import type { ChallengeRow, Put, Settlement } from '../../ports.ts'
import { DAY_MS } from '../../protocol/duration.ts'
import type { Address } from '../../protocol/hex.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { putHold, reviewHold, settleHolds } from './holds.ts'
import { countUndelivered, holdUndelivered, refuseUndelivered } from './refund-cap.ts'

const resource = { method: 'GET', path: '/a', bodyHash: '' }
const subject = { kind: 'route', routeId: 'a', resourceId: 'default', resource } as const

function open(payerUndeliveredPerDay = 2, settlement: Partial<Settlement> = {}) {
  const clock = createFakeClock(100 * DAY_MS + 1000)
  const rails = [testRail({ settlement })]
  const { core, rail, store, alerts } = testCore({ clock, rails, config: { payerUndeliveredPerDay } })
  const put = (puts: Put[]) => store.commit({ puts })
  /** A claim with its hold, both stored. */
  async function claim(key: string, payer: Address = PAYER) {
    const hold = (await holdUndelivered(core, rail, testChallenge({ key }, { subject }), payer))!
    await put([putHold(hold)])
    const attempt = testAttempt({ key, challengeId: key, payer, undelivered: hold.key })
    const challenge = testChallenge({ key, payer, undelivered: hold.key, liveAuth: key }, { subject })
    return { attempt, challenge, hold: hold.key }
  }
  const stored = () => store.list('holds', `undelivered:${PAYER}:100`)
  return { core, rail, store, put, alerts, claim, stored, pass: clock.advance }
}

test('of many concurrent calls only as many are sent as may stay undelivered; the others may wait for them', async () => {
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
  // Another instance sees the holds of this one, and refuses its own call.
  const [other] = await Promise.all([claim('five')])
  expect((await refuseUndelivered(core, [other!.attempt])).get('five')).toMatchObject({ later: true })
})

test('a payer with as many undelivered calls as allowed is refused until the next day, with one alert', async () => {
  const { core, rail, put, alerts, claim, pass } = open()
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
  expect(alerts.map(({ kind }) => kind)).toEqual(['refund-farming'])
  const other = await claim('another payer', `0x${'bb'.repeat(20)}`)
  expect((await refuseUndelivered(core, [other.attempt])).size).toBe(0)
  expect(
    await holdUndelivered(core, rail, { ...next.challenge, kind: 'plan' }, PAYER),
    'plans are no calls',
  ).toBeUndefined()
  await pass(DAY_MS)
  const tomorrow = await claim('tomorrow')
  expect((await refuseUndelivered(core, [tomorrow.attempt])).size).toBe(0)
})

test('a call counts once however often it fails, and not at all after a retry delivered it', async () => {
  const { core, put, claim, stored } = open()
  const { challenge, hold } = await claim('one')
  await put((await countUndelivered(core, challenge)).puts)
  expect((await countUndelivered(core, challenge)).puts).toEqual([])
  expect(await stored()).toMatchObject([{ key: hold, spent: true }])
  await settleHolds(core, [hold], 'returned')
  expect(await stored()).toEqual([])
  // A plain transfer is never claimed, so it is counted when its call fails.
  const { undelivered: _, ...plain } = challenge
  const counted = await countUndelivered(core, plain)
  await put(counted.puts)
  expect(await stored()).toMatchObject([{ key: counted.change.undelivered, spent: true }])
})

test('a hold that a crash left is settled by the state of its call', async () => {
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

test('a call counts once for every five cents of gas that settling and refunding it cost us', async () => {
  const paying = (wei: bigint) => open(20, { gasWallet: '0x1', gasPriceWei: async () => wei })
  // At the nominal dollar of a test coin, 160,000 gas at 5000 gwei cost 80 cents.
  for (const [wei, weight] of [
    [5_000_000_000_000n, 16],
    [10_000_000n, 1],
    [0n, 1],
  ] as const) {
    const { claim, stored } = paying(wei)
    await claim('one')
    expect(await stored(), `${wei}`).toMatchObject([{ amount: weight }])
  }
  const { core, claim, put } = paying(5_000_000_000_000n)
  const [one, two] = [await claim('one'), await claim('two')]
  expect((await refuseUndelivered(core, [one.attempt, two.attempt])).size).toBe(1)
  await put((await countUndelivered(core, one.challenge)).puts)
  await settleHolds(core, [two.hold], 'returned')
  const three = await claim('three')
  expect((await refuseUndelivered(core, [three.attempt])).get('three')).toMatchObject({
    later: false,
    error: {
      message: expect.stringMatching(
        /^A call that you paid today could not be delivered and is refunded to you\. No more/,
      ),
    },
  })
})
