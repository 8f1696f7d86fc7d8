import { expect, test } from 'vitest'
import { findNetwork } from '../protocol/networks.ts'
import type { Reconciliation } from '../reconcile/reconcile.ts'
import { describeOne, describeSeveral } from './describe-reconciliation.ts'

const [base, polygon] = [findNetwork('base')!, findNetwork('polygon')!]
const asked = { via: 'store', place: 'the sqlite store' } as const
const result = (change: Partial<Reconciliation> = {}): Reconciliation => ({
  ...{ network: base.id, wallets: [], fromBlock: 1, toBlock: 9, challenges: 3, refundsWaiting: 0 },
  ...{ foreign: 2, foreignNetworks: { 'eip155:137': 1, 'eip155:10': 1 } },
  ...{ movements: { incoming: 3, outgoing: 0 }, found: [] },
  ...change,
})
const textOf = ({ lines }: { lines: ReadonlyArray<string | { text: string }> }) =>
  lines.map((line) => (typeof line === 'string' ? line : line.text))

test('of one network it says what it always said', () => {
  const report = describeOne(result(), asked)
  expect(textOf(report)).toEqual([
    'eip155:8453, blocks 1 to 9 · 3 paid challenges of the sqlite store · 3 transfers in, 0 out · 2 challenges of other networks left out',
    'Chain and ledger agree.',
  ])
  expect(report.json).not.toHaveProperty('foreignNetworks')
})

test.each([
  [1, '1 refund on its way'],
  [2, '2 refunds on their way'],
])('%d refunds that wait are told in good words', (refundsWaiting, words) => {
  expect(textOf(describeOne(result({ refundsWaiting }), asked))[0]).toContain(` · ${words} · `)
})

test('of several it has a line each and one verdict, and a chain that cannot be read is an error', () => {
  const found: Reconciliation['found'] = [
    {
      ...{ kind: 'orphan-payment', level: 'warn', challengeId: null, txHash: '0xaa' },
      ...{ message: 'somebody paid', fix: 'Ask.' },
    },
  ]
  const report = describeSeveral(
    [
      { network: base, result: result({ found }) },
      { network: polygon, unreadable: 'the RPC cannot be reached', rpcName: 'RPC_URL_137' },
    ],
    asked,
  )
  expect(textOf(report)).toEqual([
    'orphan-payment    Base: 0xaa: somebody paid → Ask.',
    'chain-unreadable  Polygon: nothing was compared: the RPC cannot be reached → See that RPC_URL_137 is a node that answers, and look again.',
    'eip155:8453, blocks 1 to 9 · 3 paid challenges of the sqlite store · 3 transfers in, 0 out',
    'eip155:137, not compared',
    'eip155:10, not configured · 1 challenge left out',
    '1 thing does not agree.',
  ])
  expect(report.failed).toBe(true)
  expect(report.json).toMatchObject({
    ok: false,
    networks: [
      { network: base.id, challenges: 3 },
      { network: polygon.id, unreadable: expect.any(String) },
    ],
  })
})
