import { expect, test } from 'vitest'
import type { ChallengeRow } from '../ports.ts'
import { createSignals } from './signals.ts'

test('a change between subscribing and waiting is not missed', async () => {
  const signals = createSignals()
  const subscription = signals.subscribe('a')
  signals.notify('a')
  await subscription.change()
  const later = subscription.change()
  signals.notify('b')
  signals.notify('a')
  await later
})

test('every subscriber is woken, and a closed one is forgotten', async () => {
  const signals = createSignals()
  const [one, two] = [signals.subscribe('a'), signals.subscribe('a')]
  const both = Promise.all([one.change(), two.change()])
  signals.notify('a')
  expect(await both).toHaveLength(2)
  one.close()
  const waiting = two.change()
  signals.notify('a')
  await waiting
})

test('a lease goes to the request that waits for this very payment, and to nobody once that has gone', () => {
  const signals = createSignals()
  const leased = { key: 'a' } as ChallengeRow
  const other = signals.subscribe('a', 'another payment')
  const watcher = signals.subscribe('a')
  expect(signals.isAwaited('a', 'payment')).toBe(false)
  expect(signals.hand(leased, 'payment')).toBe(false)
  const waiter = signals.subscribe('a', 'payment')
  expect([signals.isAwaited('a', 'payment'), signals.isAwaited('b', 'payment')]).toEqual([true, false])
  expect(signals.hand(leased, 'payment')).toBe(true)
  expect([waiter, other, watcher].map((one) => one.isHanded())).toEqual([true, false, false])
  expect([waiter.takeHanded(), waiter.takeHanded(), waiter.isHanded()]).toEqual([leased, undefined, false])
  waiter.close()
  expect(signals.hand(leased, 'payment')).toBe(false)
})
