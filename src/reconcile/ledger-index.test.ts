import { expect, test } from 'vitest'
import type { Dossier } from '../backstage.ts'
import { findNetwork } from '../protocol/networks.ts'
import { railId } from '../rules/rail-id.ts'
import { comparePayments } from './compare-payments.ts'
import { compareRefunds } from './compare-refunds.ts'
import { indexLedger } from './ledger-index.ts'

const [base, polygon] = [findNetwork('base')!, findNetwork('polygon')!]
const [onBase, onPolygon] = [railId(base, 'exact'), railId(polygon, 'exact')]

/** Paid on Base and delivered; a second payment on Polygon waits to go back. */
const entry = {
  challenge: {
    ...{ key: 'http-1', network: base.id, rail: onBase, payTo: '0xseller', state: 'DELIVERED' },
    ...{ amount: '1000000', createdAt: 0, paidAt: 0, receipt: 'first' },
  },
  attempts: [
    { key: 'first', rail: onBase },
    { key: 'second', rail: onPolygon },
  ],
  receipts: [
    { ...receipt('first', onBase, 'pays'), blockNumber: 5, fromHeight: 4 },
    { ...receipt('second', onPolygon, 'surplus'), blockNumber: 900, fromHeight: 899 },
  ],
  refunds: [
    {
      ...{ key: 'second', rail: onPolygon, movesState: false, recipient: '0xbuyer', value: '1000000' },
      ...{ phase: 'FAILED', fromHeight: 900, txHash: null, reason: 'no money' },
    },
  ],
} as unknown as Omit<Dossier, 'audit'>

function receipt(key: string, rail: string, role: string) {
  return { key, rail, role, payer: '0xbuyer', value: '1000000', txHash: `0x${key}`, logIndex: 1, lost: false }
}

async function* ledger() {
  yield entry
}
const indexOf = (id: string) => indexLedger(ledger(), id, () => {})
const shared = {
  book: {
    nonceOf: async () => undefined,
    permitOf: async () => undefined,
    movementsIn: async () => undefined,
  },
  fromBlock: 0,
}

test('each network has its own payments, heights and refunds', async () => {
  const [own, other, foreign] = await Promise.all([base.id, polygon.id, 'eip155:10'].map(indexOf))
  expect([...own!.receipts.keys()]).toEqual(['first'])
  expect(own!.fromHeight).toBe(4)
  expect([...other!.receipts.keys()]).toEqual(['second'])
  expect(other!.fromHeight).toBe(899)
  expect(foreign!.accounts).toEqual([])
  expect([...foreign!.foreign]).toEqual([[base.id, 1]])
})

test('a second payment on another network does not make its delivery look unpaid there', async () => {
  const index = await indexOf(polygon.id)
  const payments = await comparePayments({
    ...{ ...shared, index, network: polygon, toBlock: 1, incoming: [], rpcName: 'RPC_URL_137' },
  })
  expect(payments).toEqual([])
  const refunds = await compareRefunds({
    ...{
      ...shared,
      index,
      network: polygon,
      outgoing: [],
      nowMs: 1e9,
      refundMinAgeMs: 0,
      graceMs: 1,
      rpcName: 'RPC_URL_137',
    },
  })
  expect(refunds.found.map(({ kind }) => kind)).toEqual(['refund-missing'])
  const onItsOwn = await indexOf(base.id)
  const none = await compareRefunds({
    ...{
      ...shared,
      index: onItsOwn,
      network: base,
      outgoing: [],
      nowMs: 1e9,
      refundMinAgeMs: 0,
      graceMs: 1,
      rpcName: 'RPC_URL',
    },
  })
  expect(none.found).toEqual([])
})
