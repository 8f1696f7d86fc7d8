import { expect, test } from 'vitest'
import type { Dossier } from '../backstage.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import { findNetwork } from '../protocol/networks.ts'
import { railId } from '../rules/rail-id.ts'
import { compareCredits } from './compare-credits.ts'
import { comparePayments } from './compare-payments.ts'
import { compareRefunds } from './compare-refunds.ts'
import { indexLedger } from './ledger-index.ts'
import { describeReturned } from './returned-payments.ts'
import type { Movement } from './token-book.ts'

const base = findNetwork('base')!
/** A token of eighteen decimals, as custom networks may have it. */
const network = { ...base, token: { ...base.token, decimals: 18 } }
const ONE = `1${'0'.repeat(18)}`
const rail = railId(network, 'exact')
const buyer = `0x${'b'.repeat(40)}` as Address
const seller = `0x${'5'.repeat(40)}` as Address
const hash = (digit: string) => `0x${digit.repeat(64)}` as Hex

const movement = (value: string, logIndex = 9): Movement => ({
  ...{ txHash: hash('f'), logIndex, blockNumber: 5, from: buyer, to: seller, value },
})
const receipt = (value: string) => ({
  ...{ key: 'k', rail, role: 'pays', payer: buyer, value, txHash: hash('a'), logIndex: 1, lost: false },
  ...{ blockNumber: 5, fromHeight: 4 },
})

function entry(challenge: object, rows: object = {}): Omit<Dossier, 'audit'> {
  const row = {
    ...{ key: 'http-1', network: network.id, rail, payTo: seller, state: 'DELIVERED', amount: '1000000' },
    ...{ createdAt: 0, paidAt: 0, receipt: 'k', ...challenge },
  }
  return { challenge: row, attempts: [], receipts: [], refunds: [], ...rows } as unknown as Omit<
    Dossier,
    'audit'
  >
}

async function paymentsOf(one: Omit<Dossier, 'audit'> | undefined, incoming: Movement[] = []) {
  async function* ledger() {
    if (one) yield one
  }
  const index = await indexLedger(ledger(), network.id, () => {})
  const book = { nonceOf: async () => undefined, permitOf: async () => undefined }
  const found = await comparePayments({
    ...{ index, book, network, incoming, fromBlock: 0, toBlock: 9, rpcName: 'RPC_URL' },
  })
  return { index, messages: found.map(({ message }) => message) }
}

test('transfers and receipts are told in dollars, whatever the decimals of the token', async () => {
  expect((await paymentsOf(undefined, [movement(ONE)])).messages).toEqual([
    `${buyer} sent $1.00 by a plain transfer that no receipt tells of`,
  ])
  const half = `5${'0'.repeat(17)}`
  const paid = entry({}, { receipts: [receipt(half)] })
  expect((await paymentsOf(paid, [movement(ONE, 1)])).messages).toContain(
    'the receipt is of $0.50, and its challenge asked $1.00',
  )
  expect((await paymentsOf(paid, [{ ...movement(ONE, 1), txHash: hash('a') }])).messages).toContain(
    'the receipt says $0.50 instead of $1.00',
  )
  expect((await paymentsOf(paid)).messages[0]).toContain('the receipt of $0.50 names a transfer')
  expect((await paymentsOf(entry({}))).messages).toEqual(['delivered for $1.00, but no payment is recorded'])
})

test('what a metered call cost is told with its maximum, to the last unit', async () => {
  const charge = { amount: '20000', charged: '1858', chargedUnits: '1858000000000001' }
  const said = '$0.001858000000000001 of at most $0.02'
  expect((await paymentsOf(entry(charge))).messages).toEqual([
    `delivered for ${said}, but no payment is recorded`,
  ])
  const paid = { ...receipt('1858000000000001'), lost: false }
  const seen = { ...movement(paid.value, 1), txHash: hash('a') }
  expect((await paymentsOf(entry(charge, { receipts: [paid] }), [seen])).messages).toEqual([])
  const other = entry(charge, { receipts: [receipt(ONE)] })
  expect((await paymentsOf(other, [{ ...seen, value: ONE }])).messages).toEqual([
    `the receipt is of $1.00, and its call was charged ${said}`,
  ])
})

test('refunds, unspent credits and payments that went back are told in dollars too', async () => {
  const refund = {
    ...{ key: 'k', rail, movesState: true, recipient: buyer, value: ONE, phase: 'FAILED' },
    ...{ fromHeight: 5, txHash: null, reason: 'no money' },
  }
  const { index } = await paymentsOf(entry({ state: 'REFUND_FAILED' }, { refunds: [refund] }))
  const book = { nonceOf: async () => undefined, movementsIn: async () => undefined }
  const { found } = await compareRefunds({
    ...{
      index,
      book,
      network,
      outgoing: [],
      fromBlock: 0,
      nowMs: 1e12,
      refundMinAgeMs: 0,
      graceMs: 0,
      rpcName: 'RPC_URL',
    },
  })
  expect(found[0]!.message).toBe(`the refund of $1.00 to ${buyer} failed: no money`)

  const stuck = await paymentsOf(entry({ state: 'PAID' }, { receipts: [receipt(ONE)] }))
  const { found: without } = await compareRefunds({
    ...{ index: stuck.index, book, network, outgoing: [] },
    ...{ fromBlock: 0, nowMs: 1e12, refundMinAgeMs: 0, graceMs: 0, rpcName: 'RPC_URL' },
  })
  expect(without[0]!.message).toContain('$1.00 was paid')

  const back = entry({}, { refunds: [{ ...refund, movesState: false, phase: 'DONE' }] })
  const credits = compareCredits((await paymentsOf(back)).index, network.token)
  expect(credits.found[0]!.message).toContain('$1.00 goes back for unspent credits')

  const returned = { payment: movement(ONE), refund: movement(ONE) }
  expect(describeReturned(returned, network.token).message).toContain(`${buyer} paid $1.00 in`)
})
