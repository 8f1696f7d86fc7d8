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

test('a lease is assigned to the request that waits for this payment, and to nobody after that request has ended', () => {
  const signals = createSignals()
  const leased = { key: 'a' } as ChallengeRow
  const other = signals.subscribe('a', 'another payment')
  const watcher = signals.subscribe('a')
  expect(signals.isAwaited('a', 'payment')).toBe(false)
  expect(signals.assign(leased, 'payment')).toBe(false)
  const waiter = signals.subscribe('a', 'payment')
  expect([signals.isAwaited('a', 'payment'), signals.isAwaited('b', 'payment')]).toEqual([true, false])
  expect(signals.assign(leased, 'payment')).toBe(true)
  expect([waiter, other, watcher].map((one) => one.isAssigned())).toEqual([true, false, false])
  expect([waiter.takeAssigned(), waiter.takeAssigned(), waiter.isAssigned()]).toEqual([
    leased,
    undefined,
    false,
  ])
  waiter.close()
  expect(signals.assign(leased, 'payment')).toBe(false)
})
