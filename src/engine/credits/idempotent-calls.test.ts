import { expect, test } from 'vitest'
import { ACCOUNT, LEASE_MS, PAYER, testBank } from '../../../test/engine/test-credits.ts'

const HOUR_MS = 3_600_000
const withheld = { code: 'SETTLEMENT_PENDING' }
const key = { idempotencyKey: 'one' }

test('the same call: busy while it is under way, then done, and debited once', async () => {
  const bank = testBank()
  await bank.grant('a')
  const [one, other] = [bank.instance(), bank.instance()]
  const reservation = await one.reserve(key)
  expect(await other.take(key)).toEqual({ kind: 'busy' })
  await one.commit(reservation, 'sealed')
  for (const instance of [one, other]) {
    expect(await instance.take(key)).toMatchObject({
      kind: 'done',
      credits: 1,
      remaining: 9,
      result: 'sealed',
    })
  }
  expect(await bank.books()).toEqual({ a: [1, 0] })
  // What is left is told as it is, also where another instance has spent more.
  await other.commit(await other.reserve(), null)
  expect(await one.take(key)).toMatchObject({ kind: 'done', remaining: 8 })
})

test('a call that failed may be made again under its key', async () => {
  const bank = testBank()
  await bank.grant('a')
  const { reserve, giveBack, commit } = bank.instance()
  await giveBack(await reserve(key))
  await commit(await reserve(key), null)
  expect(await bank.books()).toEqual({ a: [1, 0] })
})

test('another call under the same key is refused, before and after it is done', async () => {
  const bank = testBank()
  await bank.grant('a')
  const { reserve, take, commit } = bank.instance()
  const conflict = { kind: 'refused', error: { code: 'IDEMPOTENCY_CONFLICT' } }
  const reservation = await reserve(key)
  expect(await take({ ...key, fingerprint: 'POST /other' })).toMatchObject(conflict)
  await commit(reservation, null)
  expect(await take({ ...key, fingerprint: 'POST /other' })).toMatchObject(conflict)
  expect(await bank.books()).toEqual({ a: [1, 0] })
})

test('the key of another wallet is another key', async () => {
  const bank = testBank()
  const stranger = `0x${'b2'.repeat(20)}`
  await bank.grant('a')
  await bank.grant('b', { ref: `${stranger}/basic/default` })
  const { reserve, take, commit } = bank.instance()
  await commit(await reserve(key), 'sealed')
  expect((await take(key, { account: stranger })).kind).toBe('reserved')
})

test('a wallet with code on another network never sees what was answered on this one', async () => {
  const bank = testBank()
  await bank.grant('on-base', { network: 'eip155:8453' })
  await bank.grant('on-main', { network: 'eip155:1' })
  const { reserve, take, commit } = bank.instance()
  await commit(await reserve(key, { purchase: 'on-base' }), 'sealed')
  for (const by of [{ purchase: 'on-main' }, { network: 'eip155:1' }, { network: 'eip155:10' }]) {
    expect(await take(key, by)).toMatchObject({ error: { code: 'IDEMPOTENCY_CONFLICT' } })
  }
  expect(await take(key, { network: 'eip155:8453' })).toMatchObject({ kind: 'done', result: 'sealed' })
})

test('taken over after a lapse: the first answer is withheld, also where its credit was not taken', async () => {
  const bank = testBank()
  await bank.grant('soon', { granted: 1, expiresAt: bank.clock.now() + LEASE_MS })
  await bank.grant('late', { granted: 1, expiresAt: bank.clock.now() + HOUR_MS })
  const [one, other] = [bank.instance(), bank.instance()]
  const first = await one.reserve(key)
  await bank.clock.advance(LEASE_MS)
  // The first purchase has ended meanwhile, so the second call takes from the other.
  const second = await other.reserve(key)
  expect(await one.renew(first)).toBe(false)
  expect(await one.commit(first, 'first')).toMatchObject(withheld)
  await other.commit(second, 'second')
  expect(await one.commit(first, 'first')).toMatchObject(withheld)
  const books = await bank.books()
  expect([books.soon![0], books.late![0]]).toEqual([0, 1])
  expect(await one.take(key)).toMatchObject({ kind: 'done', result: 'second' })
})

test('a clock that is ahead takes a call over early, and still one of the two is debited', async () => {
  const bank = testBank()
  await bank.grant('a')
  const [one, ahead] = [bank.instance(), bank.instance(600_000)]
  const first = await one.reserve(key)
  const second = await ahead.reserve(key)
  const answers = await Promise.all([one.commit(first, 'first'), ahead.commit(second, 'second')])
  expect(answers[0]).toMatchObject(withheld)
  expect(answers[1]).toEqual({ remaining: 9 })
  expect(await bank.books()).toEqual({ a: [1, 0] })
})

test('one key over two plans of a wallet that signed in is debited once', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 1 })
  await bank.grant('b', { ref: `${PAYER}/pro/default` })
  const { take, reserve, commit } = bank.instance()
  const pro = { planId: 'pro' }
  const first = await reserve(key, pro)
  expect(await take(key)).toEqual({ kind: 'busy' })
  await commit(first, 'sealed')
  const again = await take(key)
  expect(again).toMatchObject({ kind: 'done', planId: 'pro', result: 'sealed' })
  expect(await bank.books()).toEqual({ a: [0, 0] })
})

test('a call whose reservation was voided after a crash is made again without a wait', async () => {
  const bank = testBank()
  await bank.grant('a')
  await bank.instance().reserve(key)
  await bank.change('a', { reserved: [] })
  expect((await bank.instance().take(key)).kind).toBe('reserved')
})

test('the rows of calls name their account, and one of a removed purchase is answered without a fault', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 1 })
  const { reserve, commit } = bank.instance()
  await commit(await reserve(key), 'sealed')
  expect((await bank.store.list('calls', ACCOUNT)).length).toBe(1)
  const row = await bank.row('a')
  await bank.store.commit({ puts: [], removes: [{ table: 'credits', key: 'a', version: row.version }] })
  expect(await bank.instance().take(key)).toEqual({ kind: 'exhausted', remaining: 0 })
})
