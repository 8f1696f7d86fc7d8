import { expect, test } from 'vitest'
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
