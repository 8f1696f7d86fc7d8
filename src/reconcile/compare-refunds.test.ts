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
    ...{ nowMs: 1e12, graceMs: 0, rpcName: 'RPC_URL' },
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
