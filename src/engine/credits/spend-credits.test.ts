import { expect, test } from 'vitest'
import { LEASE_MS, testBank } from '../../../test/engine/test-credits.ts'
import { GatewayError } from '../../errors.ts'

const HOUR_MS = 3_600_000
const withheld = { code: 'SETTLEMENT_PENDING' }

test('what ends first is spent first, and a call may take from two purchases', async () => {
  const bank = testBank()
  await bank.grant('late', { granted: 5, expiresAt: bank.clock.now() + 2 * HOUR_MS })
  await bank.grant('soon', { granted: 3, expiresAt: bank.clock.now() + HOUR_MS })
  const { reserve, commit, giveBack } = bank.instance()
  const first = await reserve({ credits: 2 })
  expect(first).toMatchObject({ purchase: { key: 'soon' }, remaining: 6 })
  const second = await reserve({ credits: 2 })
  expect(await bank.books()).toEqual({ soon: [0, 3], late: [0, 1] })
  expect(await commit(second, null)).toEqual({ remaining: 4 })
  expect(await bank.books()).toEqual({ soon: [1, 2], late: [1, 0] })
  await giveBack(first)
  await giveBack(first)
  expect(await bank.books()).toEqual({ soon: [1, 0], late: [1, 0] })
})

test('100 at once on 50 credits: 50 are reserved, on one instance and on three', async () => {
  for (const count of [1, 3]) {
    const bank = testBank()
    await bank.grant('a', { granted: 30 })
    await bank.grant('b', { granted: 20, expiresAt: bank.clock.now() + HOUR_MS })
    const instances = Array.from({ length: count }, () => bank.instance())
    const taken = await Promise.all(
      Array.from({ length: 100 }, (_, index) => instances[index % count]!.take()),
    )
    const reserved = taken.flatMap((one) => (one.kind === 'reserved' ? [one.reservation] : []))
    expect(reserved.length).toBe(50)
    expect(taken.filter(({ kind }) => kind === 'exhausted').length).toBe(50)
    await Promise.all(reserved.map((one, index) => instances[index % count]!.commit(one, null)))
    expect(await bank.books()).toEqual({ a: [30, 0], b: [20, 0] })
    expect(await instances[0]!.take()).toEqual({ kind: 'exhausted', remaining: 0 })
  }
})

test('calls that come together share a step', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 100 })
  const { take } = bank.instance()
  await take()
  await Promise.all(Array.from({ length: 50 }, () => take()))
  expect(bank.steps.length).toBeLessThanOrEqual(4)
  expect(bank.reads.lists).toBe(1)
})

test('what ends at this very moment is not spent', async () => {
  const bank = testBank()
  await bank.grant('a', { expiresAt: bank.clock.now() + HOUR_MS })
  const { take, commit, reserve } = bank.instance()
  await bank.clock.advance(HOUR_MS - 1)
  const last = await reserve()
  await bank.clock.advance(1)
  expect(await take()).toEqual({ kind: 'exhausted', remaining: 0 })
  // What was reserved in time is debited, although its purchase has ended meanwhile.
  expect(await commit(last, null)).toEqual({ remaining: 0 })
  expect(await bank.books()).toEqual({ a: [1, 0] })
})

test('a call that did not end in time gives its credit back, and its late answer is withheld', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 1 })
  const [one, other] = [bank.instance(), bank.instance()]
  const slow = await one.reserve()
  expect((await other.take()).kind).toBe('exhausted')
  await bank.clock.advance(LEASE_MS)
  const next = await other.reserve()
  expect(await one.commit(slow, null)).toMatchObject(withheld)
  expect(await other.commit(next, null)).toEqual({ remaining: 0 })
  expect(await bank.books()).toEqual({ a: [1, 0] })
})

test('a call that ends late, while nobody took its credit, is debited and answered', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 1 })
  const { reserve, commit } = bank.instance()
  const slow = await reserve()
  await bank.clock.advance(LEASE_MS * 5)
  expect(await commit(slow, null)).toEqual({ remaining: 0 })
  expect(await bank.books()).toEqual({ a: [1, 0] })
})

test('a call that takes long is renewed; once its credit is given back, it is not', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 1 })
  const { reserve, renew, take, commit } = bank.instance()
  const slow = await reserve()
  for (let turn = 0; turn < 3; turn++) {
    await bank.clock.advance(LEASE_MS - 1)
    expect(await renew(slow)).toBe(true)
    expect((await take()).kind).toBe('exhausted')
  }
  await bank.clock.advance(LEASE_MS)
  const next = await reserve()
  expect(await renew(slow)).toBe(false)
  expect(await commit(slow, null)).toMatchObject(withheld)
  await commit(next, null)
  expect(await bank.books()).toEqual({ a: [1, 0] })
})

test('a call over two purchases of which one part was given back is neither renewed nor debited in part', async () => {
  const bank = testBank()
  await bank.grant('soon', { granted: 1, expiresAt: bank.clock.now() + HOUR_MS })
  await bank.grant('late', { granted: 1, expiresAt: bank.clock.now() + 2 * HOUR_MS })
  const { reserve, renew, commit } = bank.instance()
  const slow = await reserve({ credits: 2 })
  await bank.clock.advance(LEASE_MS)
  await reserve()
  expect(await renew(slow)).toBe(false)
  expect(await commit(slow, null)).toMatchObject(withheld)
  // The mark that a part has lapsed is gone, as after a long time.
  await bank.change('soon', { reserved: [] })
  expect(await commit(slow, null)).toMatchObject(withheld)
  expect((await bank.books()).late![0]).toBe(0)
})

test.each(['before', 'after'] as const)(
  'a commit whose store fails %s it is applied is found out by asking again, and debited once',
  async (when) => {
    const bank = testBank()
    await bank.grant('a', { granted: 3 })
    const { reserve, commit } = bank.instance()
    for (const idempotencyKey of [undefined, 'key']) {
      const reservation = await reserve({ idempotencyKey })
      const spent = (await bank.row('a')).spent
      bank.faults.push(when)
      expect(await commit(reservation, 'sealed')).toEqual({ remaining: 2 - spent })
      expect((await bank.books()).a).toEqual([spent + 1, 0])
    }
  },
)

test('a store that stays away: the answer is not given, and the credit comes back', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 1 })
  const { reserve, commit, take } = bank.instance()
  const reservation = await reserve()
  bank.faults.push('before', 'before', 'before')
  await expect(commit(reservation, null)).rejects.toThrow('away')
  expect((await take()).kind).toBe('exhausted')
  await bank.clock.advance(LEASE_MS)
  expect((await take()).kind).toBe('reserved')
})

test('a reservation whose answer was lost lapses, and is not debited', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 1 })
  const { take, reserve } = bank.instance()
  bank.faults.push('after')
  await expect(take()).rejects.toThrow('lost')
  expect((await take()).kind).toBe('exhausted')
  await bank.clock.advance(LEASE_MS)
  await reserve()
  expect(await bank.books()).toEqual({ a: [0, 1] })
})

test('a clock far ahead that gives back and forgets does not make a retried commit look applied', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 1 })
  const [one, ahead] = [bank.instance(), bank.instance(1_200_000)]
  const slow = await one.reserve()
  const next = await ahead.reserve()
  bank.faults.push('before')
  expect(await one.commit(slow, null)).toMatchObject(withheld)
  await ahead.commit(next, null)
  expect(await bank.books()).toEqual({ a: [1, 0] })
})

test('bought, spent and ended on another instance: what is remembered never decides', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 2 })
  const [one, other] = [bank.instance(), bank.instance()]
  expect((await one.take({}, { purchase: 'a' })).kind).toBe('reserved')
  // Bought elsewhere: found although this instance remembers one purchase.
  await bank.grant('b', { granted: 1 })
  expect((await one.take({ credits: 2 })).kind).toBe('reserved')
  // Spent elsewhere.
  await bank.grant('c', { granted: 5 })
  const taken = await other.reserve({ credits: 5 })
  await other.commit(taken, null)
  expect(await one.take({ credits: 1 })).toEqual({ kind: 'exhausted', remaining: 0 })
  // Ended elsewhere.
  await bank.grant('d', { granted: 5 })
  await one.reserve({}, { purchase: 'd' })
  await bank.change('d', { ended: 'lost' })
  expect(await one.take({}, { purchase: 'd' })).toMatchObject({
    kind: 'refused',
    error: { code: 'UNAUTHORIZED' },
  })
  expect((await one.take()).kind).toBe('exhausted')
})

test('a lost and a closed purchase are not spent, by their token or beside another', async () => {
  for (const ended of ['lost', 'closing', 'closed'] as const) {
    const bank = testBank()
    await bank.grant('ended', { ended })
    await bank.grant('good', { granted: 1 })
    const { take } = bank.instance()
    expect(await take({}, { purchase: 'ended' })).toMatchObject({ error: { code: 'UNAUTHORIZED' } })
    expect((await take({}, { purchase: 'good' })).kind).toBe('reserved')
    expect((await take({}, { purchase: 'good' })).kind).toBe('exhausted')
    expect((await bank.row('ended')).reserved).toEqual([])
  }
})

test('a wallet with code spends what it bought on its network alone, and is told of no more', async () => {
  const bank = testBank()
  await bank.grant('by-key', { granted: 1 })
  await bank.grant('on-base', { granted: 2, network: 'eip155:8453', paidOn: 'eip155:8453' })
  await bank.grant('on-main', { granted: 4, network: 'eip155:1', paidOn: 'eip155:1' })
  const { take, commit, reserve } = bank.instance()
  const there = { network: 'eip155:8453' }
  const own = await reserve({ credits: 1 }, there)
  expect(own.remaining).toBe(1)
  expect(await commit(own, null)).toEqual({ remaining: 1 })
  expect(await take({ credits: 2 }, there)).toEqual({ kind: 'exhausted', remaining: 1 })
  expect(await take({ credits: 5 }, { purchase: 'on-main' })).toEqual({ kind: 'exhausted', remaining: 4 })
  expect(await take({}, { network: 'eip155:10' })).toEqual({ kind: 'exhausted', remaining: 0 })
  // The key of the payer is above all of them.
  expect((await take({ credits: 6 }, { purchase: 'by-key' })).kind).toBe('reserved')
})

test('an account whose calls keep failing is refused for the rest of the minute; paid calls make room', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 1000 })
  const { take, reserve, giveBack, commit } = bank.instance()
  await commit(await reserve(), null)
  for (let turn = 0; turn < 61; turn++) await giveBack(await reserve())
  expect(await take()).toMatchObject({ kind: 'refused', error: { code: 'RATE_LIMITED' } })
  await bank.clock.advance(60_000)
  expect((await take()).kind).toBe('reserved')
  expect((await bank.row('a')).spent).toBe(1)
})

test('a token whose purchase is unknown is refused', async () => {
  const bank = testBank()
  await bank.grant('a')
  const refused = await bank.instance().take({}, { purchase: 'forged' })
  expect(refused.kind === 'refused' && refused.error).toBeInstanceOf(GatewayError)
})
