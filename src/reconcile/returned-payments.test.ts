import { expect, test } from 'vitest'
import type { Address, Hex } from '../protocol/hex.ts'
import { findNetwork } from '../protocol/networks.ts'
import { authorizationKey } from '../schemes/exact/authorization.ts'
import { refundNonceOf } from '../schemes/exact/refund-nonce.ts'
import { permitKey } from '../schemes/upto/permit.ts'
import { findReturned } from './returned-payments.ts'
import type { Movement } from './token-book.ts'

const network = findNetwork('base')!
const buyer = `0x${'b'.repeat(40)}` as Address
const seller = `0x${'5'.repeat(40)}` as Address
const nonceOf = (digit: string) => `0x${digit.repeat(64)}` as Hex
const keyOf = (digit: string) => authorizationKey(network, buyer, nonceOf(digit))

function movement(logIndex: number, from: Address, to: Address): Movement {
  return { txHash: nonceOf('f'), logIndex, blockNumber: 1, from, to, value: '1000000' }
}

test('of payments that the ledger does not know, those that went back are found by the nonce of their refund', async () => {
  const incoming = [movement(0, buyer, seller), movement(1, buyer, seller), movement(2, buyer, seller)]
  const outgoing = [movement(3, seller, buyer), movement(4, seller, buyer)]
  // The third payment is known, and the second refund is its own.
  const nonces = new Map([
    [0, nonceOf('1')],
    [1, nonceOf('2')],
    [2, nonceOf('3')],
    [3, refundNonceOf(keyOf('2'), network.token.address)],
    [4, refundNonceOf(keyOf('3'), network.token.address)],
  ])
  const found = await findReturned({
    index: { byPlace: new Map(), receipts: new Map([[keyOf('3'), {} as never]]), unsettled: new Map() },
    book: { nonceOf: async ({ logIndex }) => nonces.get(logIndex), permitOf: async () => undefined },
    ...{ network, incoming, outgoing },
  })
  expect(found).toEqual([{ payment: incoming[1], refund: outgoing[0] }])
})

test('a metered payment that the ledger does not know and that went back is found in the same way', async () => {
  const key = permitKey(network.chainId, buyer, '77')
  const [payment, refund] = [movement(0, buyer, seller), movement(1, seller, buyer)]
  const nonce = refundNonceOf(key, network.token.address)
  const found = await findReturned({
    index: { byPlace: new Map(), receipts: new Map(), unsettled: new Map() },
    book: {
      nonceOf: async ({ logIndex }) => (logIndex === 1 ? nonce : undefined),
      permitOf: async () => key,
    },
    ...{ network, incoming: [payment], outgoing: [refund] },
  })
  expect(found).toEqual([{ payment, refund }])
})
