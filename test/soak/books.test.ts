import { expect, test } from 'vitest'
import type { Hex } from '../../src/protocol/hex.ts'
import type { LedgerEntry } from '../../src/server/admin/read-ledger.ts'
import { compareBooks } from './books.ts'
import { createHands, type Deal, hear } from './deal.ts'
import type { Evidence } from './evidence.ts'

const SELLER: Hex = '0x5e11e4'
const BUYER: Hex = '0xb0'

function entryOf(key: string, more: { state: string; refund?: string; charged?: bigint }): LedgerEntry {
  const { state, refund, charged = 10n } = more
  const receipt = { key: `r-${key}`, role: 'pays', payer: BUYER, value: String(charged), logIndex: 0 }
  const returned = {
    key: `r-${key}`,
    phase: 'DONE',
    recipient: BUYER,
    value: String(charged),
    txHash: refund,
  }
  return {
    challenge: { key, requestId: `name-${key}`, state, txHash: `0x${key}`, payer: BUYER },
    attempts: [{ key: `r-${key}`, phase: 'CONFIRMED' }],
    receipts: [{ ...receipt, txHash: `0x${key}`, finalized: true, lost: false }],
    refunds: refund ? [returned] : [],
  } as unknown as LedgerEntry
}

const dealOf = (challengeId: string, more: Partial<Deal>): Deal => ({
  ...{ way: 'http plan', payer: BUYER, challengeId, priceMicro: 10n, began: 0, sends: 1 },
  send: () => Promise.reject(new Error('not here')),
  ...more,
})

const event = (type: string, challengeId: string) => ({
  ...{ id: `${type}-${challengeId}`, type, timestamp: '' },
  data: { challengeId },
})

/** One sale, one refund and one account of credits, about which everybody says the same. */
function agreeing(): Evidence {
  const hands = createHands()
  hands.deals.push(
    dealOf('a', { end: 'delivered', got: { result: 'token', txHash: '0xa', chargedMicro: 10n } }),
    dealOf('b', { end: 'refunded' }),
    dealOf('c', { end: 'unpaid' }),
  )
  hands.accounts.set(BUYER, {
    wallet: {} as never,
    token: '',
    served: new Map([['k', 'answer']]),
    open: new Map(),
  })
  const sold = entryOf('a', { state: 'DELIVERED' })
  hands.deals[0]!.way = 'credits plan'
  sold.credits = { sold: 20, lot: { spent: 1 } as never }
  return {
    seller: SELLER,
    chain: [
      { from: BUYER, to: SELLER, value: 10n, txHash: '0xa', logIndex: 0 },
      { from: BUYER, to: SELLER, value: 10n, txHash: '0xb', logIndex: 0 },
      { from: SELLER, to: BUYER, value: 10n, txHash: '0xback', logIndex: 0 },
    ],
    ledger: [sold, entryOf('b', { state: 'REFUNDED', refund: '0xback' })],
    hands,
    spent: new Map([[BUYER, 10n]]),
    events: [
      ...['payment.settled', 'access.delivered'].map((type) => event(type, 'a')),
      ...['payment.settled', 'refund.pending', 'refund.settled'].map((type) => event(type, 'b')),
    ],
    forged: [],
    balances: new Map([[BUYER, { granted: 20, spent: 1, reserved: 0 }]]),
    charges: new Map(),
  }
}

test('books that agree have no disagreement', () => {
  expect(compareBooks(agreeing())).toEqual([])
})

test.each<[string, (evidence: Evidence) => void, RegExp]>([
  ['a second charge', ({ chain }) => chain.push({ ...chain[0]!, logIndex: 1 }), /does not know it/],
  ['a charge that the chain does not have', ({ chain }) => chain.shift(), /receipt of a .* not on the chain/],
  ['a refund that never landed', ({ chain }) => chain.pop(), /refund of b .* not on the chain/],
  ['a wallet that is too poor', ({ spent }) => spent.set(BUYER, 11n), /poorer by 11/],
  ['a result that was lost', ({ hands }) => delete hands.deals[0]!.got, /ledger says DELIVERED/],
  ['money kept for nothing', ({ ledger }) => ledger[1]!.refunds.pop(), /10 was kept/],
  ['a sale that no buyer knows', ({ hands }) => hands.deals.shift(), /which no buyer knows/],
  ['a payment under way', ({ ledger }) => (ledger[0]!.attempts[0]!.phase = 'BROADCAST'), /is BROADCAST/],
  ['a buyer without a decision', ({ hands }) => delete hands.deals[2]!.end, /never got a decision/],
  ['a webhook that is missing', ({ events }) => events.pop(), /refund.settled never arrived/],
  [
    'a webhook with another body',
    ({ events }) => events.push({ ...events[0]!, timestamp: 'later' }),
    /two bodies/,
  ],
  ['a webhook under two ids', ({ events }) => events.push({ ...events[0]!, id: 'x' }), /under two ids/],
  ['a call that was debited twice', ({ balances }) => (balances.get(BUYER)!.spent = 2), /told 2 spent/],
  ['credits that stay reserved', ({ balances }) => (balances.get(BUYER)!.reserved = 1), /1 credits reserved/],
])('%s is named', (_, spoil, told) => {
  const evidence = agreeing()
  spoil(evidence)
  expect(compareBooks(evidence).join('\n')).toMatch(told)
})

test('a buyer complains of a second result, and of a refund after its result', () => {
  const hands = createHands()
  const deal = dealOf('a', {})
  hear(hands, deal, { kind: 'delivered', result: 'one', txHash: '0xa' })
  hear(hands, deal, { kind: 'pending' })
  expect([hands.complaints, deal.end]).toEqual([[], 'delivered'])
  hear(hands, deal, { kind: 'delivered', result: 'two', txHash: '0xa' })
  hear(hands, deal, { kind: 'refunded' })
  hear(hands, deal, { kind: 'odd', text: '404' })
  expect(hands.complaints.map((text) => text.slice(0, 40))).toEqual([
    expect.stringContaining('got two results'),
    expect.stringContaining('had its result'),
    expect.stringContaining('was told 404'),
  ])
})
