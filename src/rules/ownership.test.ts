import { expect, test } from 'vitest'
import { isPaidBy, saltHashOf, showsSalt } from './ownership.ts'

const PAYER = `0x${'0a'.repeat(20)}` as const
const paid = { payer: PAYER, network: 'eip155:8453' } as const

test('a key owns what it paid on every network, and code only where it paid', () => {
  const elsewhere = { payer: PAYER, network: 'eip155:1' }
  const byKey = { ...paid, paidByKey: true } as const
  expect(isPaidBy(byKey, { ...elsewhere, byKey: true })).toBe(true)
  expect(isPaidBy(byKey, elsewhere), 'code at the address of a key').toBe(false)
  expect(isPaidBy(paid, { ...elsewhere, byKey: true }), 'a key at the address of code').toBe(false)
  expect(isPaidBy(paid, elsewhere)).toBe(false)
  expect(isPaidBy(paid, paid)).toBe(true)
  expect(isPaidBy(byKey, { ...paid, payer: `0x${'0b'.repeat(20)}`, byKey: true })).toBe(false)
})

test('a salt is shown by itself alone, and none is shown by none', () => {
  expect(showsSalt(saltHashOf('a salt'), 'a salt')).toBe(true)
  expect(showsSalt(saltHashOf('a salt'), 'another')).toBe(false)
  expect(showsSalt(null, null)).toBe(false)
})
