import { expect, test } from 'vitest'
import type { Address, Hex } from '../protocol/hex.ts'
import { findNetwork } from '../protocol/networks.ts'
import { railId } from '../rules/rail-id.ts'
import { refundNonceOf } from '../schemes/exact/refund-nonce.ts'
import { permitKey } from '../schemes/upto/permit.ts'
import { compareRefunds } from './compare-refunds.ts'
import { indexLedger, type LedgerEntry } from './ledger-index.ts'
import type { Movement } from './token-book.ts'

const network = findNetwork('base')!
const buyer = `0x${'b'.repeat(40)}` as Address
const seller = `0x${'5'.repeat(40)}` as Address
const hash = (digit: string) => `0x${digit.repeat(64)}` as Hex
const key = permitKey(network.chainId, buyer, '12345')
const rail = railId(network, 'upto')

const sale = {
  challenge: {
    ...{ key: 'http-1', network: network.id, rail, payTo: seller, state: 'DELIVERED', amount: '20000' },
    ...{ createdAt: 0, paidAt: 0, receipt: key },
  },
  ...{ attempts: [], refunds: [] },
  receipts: [
    {
      ...{ key, rail, role: 'pays', payer: buyer, value: '1858', txHash: hash('a'), logIndex: 1 },
      ...{ lost: false, blockNumber: 5, fromHeight: 4 },
    },
  ],
} as unknown as LedgerEntry

const sent: Movement = {
  ...{ txHash: hash('c'), logIndex: 3, blockNumber: 8, from: seller, to: buyer, value: '1858' },
}

async function compare(nonce: Hex | undefined) {
  async function* ledger() {
    yield sale
  }
  const index = await indexLedger(ledger(), network.id, () => {})
  const book = { nonceOf: async () => nonce, movementsIn: async () => undefined }
  return compareRefunds({
    ...{ index, book, network, outgoing: [sent], fromBlock: 0 },
    ...{ nowMs: 1e12, refundMinAgeMs: 0, graceMs: 0, rpcName: 'RPC_URL' },
  })
}

test('a transfer to a payer of metered calls that is no refund of theirs is no fault', async () => {
  expect(await compare(hash('d'))).toEqual({ found: [], waiting: 0 })
  expect(await compare(undefined)).toEqual({ found: [], waiting: 0 })
})

test('a refund of a metered payment that the ledger does not know is found by its nonce', async () => {
  const { found } = await compare(refundNonceOf(key, network.token.address))
  expect(found).toMatchObject([{ kind: 'refund-unrecorded', challengeId: 'http-1', txHash: sent.txHash }])
})

const HOUR_MS = 3_600_000
const PAID_AT = 1e12

/** What is found, and how many refunds are on their way, at this time after the payment. */
async function comparedAfter(
  passedMs: number,
  change: { challenge?: object; refund?: object; due?: object },
) {
  const { challenge, refund, due } = change
  const entry = {
    ...sale,
    challenge: { ...sale.challenge, kind: 'route', state: 'PAID', paidAt: PAID_AT, ...challenge },
    refunds: refund
      ? [
          {
            ...{ key, rail, movesState: true, recipient: buyer, value: '1858', phase: 'WAITING' },
            ...{ fromHeight: 5, txHash: null, reason: null, ...refund },
          },
        ]
      : [],
    refundsDue: due,
  } as unknown as LedgerEntry
  async function* ledger() {
    yield entry
  }
  const { found, waiting } = await compareRefunds({
    index: await indexLedger(ledger(), network.id, () => {}),
    book: { nonceOf: async () => undefined, movementsIn: async () => undefined },
    ...{ network, outgoing: [], fromBlock: 0, nowMs: PAID_AT + passedMs },
    ...{ refundMinAgeMs: 2 * HOUR_MS, graceMs: HOUR_MS, rpcName: 'RPC_URL' },
  })
  return [...found.map(({ kind }) => kind), ...Array.from({ length: waiting }, () => 'waiting')]
}

test('the refund of a paid call is missing an hour after its buyer could last repeat it, that of a plan after an hour', async () => {
  expect(await comparedAfter(2.9 * HOUR_MS, {})).toEqual(['waiting'])
  expect(await comparedAfter(3.1 * HOUR_MS, {})).toEqual(['refund-missing'])
  expect(await comparedAfter(1.1 * HOUR_MS, { challenge: { kind: 'plan' } })).toEqual(['refund-missing'])
})

test('the hour of a recorded refund begins when it became due, whenever its sale was paid', async () => {
  const dueAfter = (ms: number) => ({ [key]: PAID_AT + ms })
  const state = 'REFUND_PENDING'
  const late = { challenge: { state }, refund: {}, due: dueAfter(0) }
  expect(await comparedAfter(1.1 * HOUR_MS, late)).toEqual(['refund-missing'])
  const call = { challenge: { state }, refund: {}, due: dueAfter(5 * HOUR_MS) }
  expect(await comparedAfter(5.9 * HOUR_MS, call)).toEqual(['waiting'])
  expect(await comparedAfter(6.1 * HOUR_MS, call)).toEqual(['refund-missing'])
  const surplus = {
    challenge: { state: 'DELIVERED', receipt: 'another' },
    refund: { movesState: false },
    due: { another: PAID_AT, ...dueAfter(48 * HOUR_MS) },
  }
  expect(await comparedAfter(48.9 * HOUR_MS, surplus)).toEqual(['waiting'])
  expect(await comparedAfter(49.1 * HOUR_MS, surplus)).toEqual(['refund-missing'])
})
