import { expect, test } from 'vitest'
import { createOpenLimit } from './open-limit.ts'

test('each client has so many places at a time, and gives each back once', () => {
  const enter = createOpenLimit(2)
  const leave = enter('203.0.113.7')!
  expect(enter('203.0.113.7')).toBeDefined()
  expect(enter('203.0.113.7')).toBe(undefined)
  expect(enter('203.0.113.8'), 'a neighbour').toBeDefined()
  leave()
  leave()
  expect(enter('203.0.113.7')).toBeDefined()
  expect(enter('203.0.113.7')).toBe(undefined)
})

test('an IPv6 customer has the places of one', () => {
  const enter = createOpenLimit(1)
  expect(enter('2001:db8::1')).toBeDefined()
  expect(enter('2001:db8:0:0:ffff::2')).toBe(undefined)
})
