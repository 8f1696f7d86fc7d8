import { expect, test } from 'vitest'
import type { AuditEntry } from '../facts.ts'
import { type RefundTrack, trackRefund } from './sale-events.ts'

type Told = readonly [event: string, payment?: string, txHash?: `0x${string}`]

function after(entries: readonly Told[], track: RefundTrack = { refundSince: null, surplus: null }) {
  for (const [event, payment, txHash] of entries) {
    const entry: AuditEntry = {
      ...{ at: 1, challengeId: 'c', requestId: 'r', event, actor: 'gateway' },
      ...{ fromState: 'DELIVERED', toState: 'DELIVERED' },
      details: { value: '5', ...(payment && { payment }) },
      ...(txHash && { txHash }),
    }
    trackRefund(track, entry, { txHash: '0xaa' })
  }
  return track.surplus
}

const failedA = [
  ['surplus-received', 'a'],
  ['surplus-refund-failed', 'a'],
] as const

test('a surplus whose refund failed stays due when another one of the sale is refunded', () => {
  expect(after([...failedA, ['surplus-received', 'b']])).toBe('failed')
  expect(after([...failedA, ['surplus-received', 'b'], ['surplus-refunded', 'b']])).toBe('failed')
  expect(after([['surplus-received', 'b'], ...failedA, ['surplus-refund-retried', 'a']])).toBe('waiting')
  const refunded = [
    ['surplus-refunded', 'b'],
    ['surplus-refunded', 'a'],
  ] as const
  expect(after([['surplus-received', 'b'], ...failedA, ...refunded])).toBeNull()
})

test('unspent credits and a surplus are due each for itself', () => {
  expect(after([...failedA, ['credits-closed'], ['credits-refunded', 'first']])).toBe('failed')
  expect(after([['credits-closed'], ...failedA, ['surplus-refunded', 'a']])).toBe('waiting')
  expect(after([['credits-closed'], ['credits-refund-failed', 'first']])).toBe('failed')
  expect(
    after([['credits-closed'], ['credits-refund-failed', 'first'], ['credits-refund-proven', 'first']]),
  ).toBeNull()
})

test('a payment that the chain took back is due no more', () => {
  expect(
    after([
      ['surplus-received', 'a'],
      ['receipt-lost', 'a'],
    ]),
  ).toBeNull()
  expect(
    after([
      ['surplus-received', 'a'],
      ['receipt-lost', 'b'],
    ]),
  ).toBe('waiting')
  expect(after([...failedA, ['credits-closed'], ['receipt-lost', 'first', '0xaa']])).toBe('failed')
  expect(after([['credits-closed'], ['receipt-lost', 'first', '0xaa']])).toBeNull()
})

test('a row of an earlier version, which has one word for all of them, is read as before', () => {
  const earlier = (): RefundTrack => ({ refundSince: null, surplus: 'waiting' })
  expect(after([['surplus-refund-failed', 'a']], earlier())).toBe('failed')
  expect(after([['surplus-refunded', 'a']], earlier())).toBeNull()
  expect(after([['credits-refunded', 'first']], earlier())).toBeNull()
  expect(
    after(
      [
        ['surplus-received', 'b'],
        ['surplus-refunded', 'b'],
      ],
      earlier(),
    ),
  ).toBe('waiting')
  expect(after([['receipt-lost', 'first', '0xaa']], { ...earlier(), owed: '5' })).toBeNull()
  expect(after([['surplus-received'], ['surplus-refunded']]), 'entries without the payment').toBeNull()
})
