import { expect, test } from 'vitest'
import { ACCOUNT, LEASE_MS, PAYER, testBank } from '../../../test/engine/test-credits.ts'
import { GatewayError } from '../../errors.ts'
import { balanceOf } from './credit-balance.ts'
import { LAPSED_KEPT_MS } from './credit-rows.ts'
import { reviewCredits, voidReservations } from './review-credits.ts'

const DAY_MS = 86_400_000
const spender = { account: PAYER, planId: 'basic', resourceId: 'default' }

/** What the jobs of an instance do with rows that are due. */
async function review(bank: ReturnType<typeof testBank>, instance = bank.instance()): Promise<number> {
  const now = instance.core.clock.now()
  const due = await bank.store.takeDue('credits', now, now + 60_000, 100)
  await Promise.all(due.map((row) => reviewCredits(instance.core, instance.accounts, row)))
  return due.length
}

test('the job gives back what lapsed, remembers it for a while, and then comes no more', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 1 })
  const one = bank.instance()
  const slow = await one.reserve()
  expect(await review(bank)).toBe(0)
  await bank.clock.advance(LEASE_MS + 30_000)
  expect(await review(bank)).toBe(1)
  expect(await bank.books()).toEqual({ a: [0, 0] })
  expect(await one.commit(slow, null)).toMatchObject({ code: 'SETTLEMENT_PENDING' })
  await bank.clock.advance(LAPSED_KEPT_MS + 60_000)
  expect(await review(bank)).toBe(1)
  const { reserved, expiresAt, dueAt } = await bank.row('a')
  expect([reserved, dueAt]).toEqual([[], expiresAt + DAY_MS])
})

test('calls that end well leave at most one look per half minute', async () => {
  const bank = testBank()
  await bank.grant('a')
  const { reserve, commit } = bank.instance()
  for (let turn = 0; turn < 10; turn++) await commit(await reserve(), null)
  await bank.clock.advance(60_000)
  expect(await review(bank)).toBe(1)
  expect((await bank.row('a')).dueAt).toBe((await bank.row('a')).expiresAt + DAY_MS)
})

test('a day after its end a purchase leaves the table, and the log says what was spent of it', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 5 })
  await bank.grant('b', { granted: 5, ended: 'lost' })
  const one = bank.instance()
  await one.commit(await one.reserve({ credits: 2 }), null)
  await bank.clock.advance(DAY_MS)
  await review(bank)
  expect(Object.keys(await bank.books())).toEqual(['a', 'b'])
  await bank.clock.advance(DAY_MS)
  await review(bank)
  expect(await bank.books()).toEqual({})
  const [ended] = await bank.store.audit('a')
  expect(ended).toMatchObject({
    event: 'credits-ended',
    details: { granted: 5, spent: 2, planId: 'basic' },
  })
  expect((await bank.store.audit('b'))[0]!.details).toMatchObject({
    granted: 5,
    spent: 0,
    planId: 'basic',
    ended: 'lost',
  })
  // The instance that remembers the row does not bring it back.
  expect(await one.take()).toEqual({ kind: 'exhausted', remaining: 0 })
  expect(await bank.books()).toEqual({})
})

test('a purchase is not removed while a call is under way', async () => {
  const bank = testBank()
  await bank.grant('a', { expiresAt: bank.clock.now() + 1 })
  const one = bank.instance()
  const slow = await one.reserve()
  for (let turn = 0; turn < 25; turn++) {
    await bank.clock.advance(DAY_MS / 12)
    await one.renew(slow)
  }
  await review(bank)
  expect(await bank.books()).toEqual({ a: [0, 1] })
  expect(await one.commit(slow, null)).toEqual({ remaining: 0 })
})

test('on a store of its own, a start gives back everything that a killed process had reserved', async () => {
  const bank = testBank()
  await bank.grant('a')
  await bank.grant('b', { ref: `${PAYER}/pro/default` })
  const killed = bank.instance()
  await killed.reserve({ idempotencyKey: 'one' })
  await killed.reserve({ credits: 3 }, { planId: 'pro' })
  await bank.clock.advance(10)
  const started = bank.instance()
  await voidReservations(started.core)
  expect((await bank.row('a')).reserved).toMatchObject([{ lapsed: true }])
  expect((await bank.row('b')).reserved).toMatchObject([{ lapsed: true }])
  expect((await started.take({ idempotencyKey: 'one', credits: 10 })).kind).toBe('reserved')
})

test('a call that is begun while the process starts keeps its credits, and is debited', async () => {
  const bank = testBank()
  await bank.grant('a')
  const started = bank.instance()
  const begun = await started.reserve({ idempotencyKey: 'one' })
  const unnamed = await started.reserve()
  await voidReservations(started.core)
  started.accounts.forget(begun.account)
  for (const call of [begun, unnamed]) expect(await started.commit(call, null)).toHaveProperty('remaining')
  expect(await bank.books()).toEqual({ a: [2, 0] })
})

test('a call whose clock was put back while the process started is withheld and costs nothing', async () => {
  const bank = testBank()
  await bank.grant('a')
  const started = bank.instance()
  const begun = await started.reserve({ idempotencyKey: 'one' })
  await bank.clock.advance(10)
  await voidReservations(started.core)
  started.accounts.forget(begun.account)
  expect(await started.commit(begun, null)).toBeInstanceOf(GatewayError)
  expect(await bank.books()).toEqual({ a: [0, 0] })
})

test('the balance tells what is granted, spent, reserved and left, also while calls are under way', async () => {
  const bank = testBank()
  await bank.grant('a', { granted: 5 })
  await bank.grant('ended', { granted: 5, ended: 'closed' })
  await bank.grant('over', { granted: 5, expiresAt: bank.clock.now() })
  const [one, other] = [bank.instance(), bank.instance()]
  await one.commit(await one.reserve(), null)
  await other.commit(await other.reserve({ credits: 2 }), null)
  // The balance waits behind a call of this instance, which remembers what was before the other one's.
  const [, balance] = await Promise.all([one.take(), balanceOf(one.accounts, spender)])
  expect(balance).toMatchObject({ granted: 5, spent: 3, reserved: 1, remaining: 1 })
  await bank.grant('b', { granted: 7 })
  const [, more] = await Promise.all([one.take(), balanceOf(one.accounts, spender)])
  expect(more).toMatchObject({ granted: 12, remaining: 7 })
  expect(await balanceOf(one.accounts, { ...spender, purchase: 'ended' })).toBeInstanceOf(GatewayError)
  expect(await balanceOf(one.accounts, { ...spender, network: 'eip155:1' })).toMatchObject({
    granted: 0,
    expiresAt: null,
  })
})

test('a change that nobody can apply fails alone, and the others of its step are applied', async () => {
  const bank = testBank()
  await bank.grant('a')
  const { accounts, reserve } = bank.instance()
  const failing = accounts.change(ACCOUNT, {
    apply(view) {
      view.put([{ ...view.rows[0]!, spent: 9 }])
      throw new Error('no')
    },
  })
  const [reserved] = await Promise.all([reserve(), expect(failing).rejects.toThrow('no')])
  expect(reserved.credits).toBe(1)
  expect(await bank.books()).toEqual({ a: [0, 1] })
})
