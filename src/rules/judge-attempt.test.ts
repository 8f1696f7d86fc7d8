import { describe, expect, test } from 'vitest'
import type { Block, MinedTx, SignedFacts, Use, WalletTxRow } from '../facts.ts'
import { isDead, judgeAttempt, receiptRole } from './judge-attempt.ts'

const payer = `0x${'22'.repeat(20)}` as const
const payTo = `0x${'11'.repeat(20)}` as const
const key = `84532:0xa5:${payer}:0xab`
const hash = `0x${'cd'.repeat(32)}` as const
const signed: SignedFacts = {
  key,
  payer,
  to: payTo,
  amount: '5',
  validBefore: '1000',
  signature: '0x00',
}
const block = (number: number, timestamp = 500): Block => ({ number, hash, timestamp })
const transfer: Use = {
  kind: 'transfer',
  key,
  block: block(10),
  txHash: hash,
  logIndex: 1,
  from: payer,
  to: payTo,
  value: '5',
}
const walletTx = (members: number, phase: WalletTxRow['phase'] = 'SENT') =>
  ({
    members: Array.from({ length: members }, (_, index) => ({ kind: 'payment', key: String(index) })),
    phase,
  }) as WalletTxRow
const mined = (success: boolean): MinedTx => ({ hash, success, blockNumber: 10 })
const judge = (seen: { use?: Use; at?: Block; walletTx?: WalletTxRow; mined?: MinedTx }, confirmations = 1) =>
  judgeAttempt(
    signed,
    { use: undefined, at: block(10), walletTx: undefined, mined: undefined, ...seen },
    confirmations,
  )

describe('judgeAttempt', () => {
  test('the exact transfer confirms at the required depth', () => {
    expect(judge({ use: transfer })).toEqual({ kind: 'confirmed', use: transfer })
    expect(judge({ use: transfer }, 2)).toEqual({ kind: 'wait' })
    expect(judge({ use: transfer, at: block(11) }, 2).kind).toBe('confirmed')
  })
  test('a transfer with another recipient or value is spent elsewhere, never a payment', () => {
    for (const change of [{ to: payer }, { value: '6' }, { from: payTo }]) {
      expect(judge({ use: { ...transfer, ...change } as Use })).toEqual({
        kind: 'failed',
        reason: 'spent_elsewhere',
      })
    }
  })
  test('a cancellation fails', () => {
    expect(judge({ use: { kind: 'canceled', key, block: block(10), txHash: hash } }).kind).toBe('failed')
  })
  test('our own transaction mined without a use is a revert; a whole reverted batch is tried again in halves', () => {
    expect(judge({ walletTx: walletTx(1), mined: mined(false) })).toEqual({
      kind: 'failed',
      reason: 'reverted',
    })
    expect(judge({ walletTx: walletTx(5), mined: mined(true) })).toEqual({
      kind: 'failed',
      reason: 'reverted',
    })
    expect(judge({ walletTx: walletTx(5), mined: mined(false) })).toEqual({ kind: 'rebind', batchLimit: 3 })
  })
  test('a search that ended below the mined block proves nothing', () => {
    expect(judge({ at: block(9), walletTx: walletTx(1), mined: mined(false) })).toEqual({ kind: 'wait' })
  })
  test('unused past validBefore fails; before that it waits', () => {
    expect(judge({ at: block(10, 1000) })).toEqual({ kind: 'failed', reason: 'authorization_expired' })
    expect(judge({ at: block(10, 999) })).toEqual({ kind: 'wait' })
    expect(judge({ walletTx: walletTx(1, 'REPLACED') })).toEqual({ kind: 'rebind', batchLimit: null })
  })
})

test('dead only in a finalized block: expired unused, or spent on something else', () => {
  expect(isDead(signed, undefined, block(10, 999))).toBe(false)
  expect(isDead(signed, undefined, block(10, 1000))).toBe(true)
  expect(isDead(signed, transfer, block(9, 2000))).toBe(false)
  expect(isDead(signed, transfer, block(10, 600))).toBe(true)
})

test('a confirmed transfer pays an unpaid challenge, is surplus to a paid one, and is late for a closed one', () => {
  expect(receiptRole({ state: 'PENDING', liveAuth: 'a' }, 'a')).toBe('pays')
  expect(receiptRole({ state: 'PENDING', liveAuth: null }, 'a')).toBe('pays')
  expect(receiptRole({ state: 'PENDING', liveAuth: 'b' }, 'a')).toBe('surplus')
  for (const state of ['PAID', 'DELIVERED', 'REFUND_PENDING', 'REFUNDED', 'REFUND_FAILED'] as const) {
    expect(receiptRole({ state, liveAuth: null }, 'a')).toBe('surplus')
  }
  for (const state of ['EXPIRED', 'CANCELLED'] as const)
    expect(receiptRole({ state, liveAuth: null }, 'a')).toBe('late')
})
