import { expect, test } from 'vitest'
import { addressWord, word } from '../../chain/abi-words.ts'
import { createBlockClock } from '../../chain/block-clock.ts'
import { TRANSFER_TOPIC } from '../../chain/erc20.ts'
import { createMinedSearch } from '../../chain/find-mined.ts'
import type { Rpc } from '../../chain/rpc.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { UPTO_PROXY_ADDRESS } from '../../protocol/permit2.ts'
import { createSettlementSearch } from './find-settlements.ts'
import type { SignedPermit } from './permit.ts'
import { encodeSettle } from './settle-call.ts'

const network = findNetwork('testnet')!
const PAYER: Address = `0x${'b0'.repeat(20)}`
const SELLER: Address = `0x${'5e'.repeat(20)}`
const PERMIT: SignedPermit = {
  ...{ from: PAYER, to: SELLER, token: network.token.address, amount: '20000', charge: '1858', nonce: '77' },
  ...{ spender: UPTO_PROXY_ADDRESS, facilitator: SELLER, deadline: '999', validAfter: '0', signature: '0x' },
}
const latest = { number: '0x5dc', hash: `0x${'cc'.repeat(32)}`, timestamp: '0x1' } // 1500
const hashOf = (index: number): Hex => `0x${word(BigInt(index + 1))}`

/** A transaction with a transfer of the payer to the seller. */
interface Paid {
  height: number
  value?: string
  permit?: SignedPermit
  to?: Address
}

/** A node at block 1500 that gives logs of at most 200 blocks at once. */
function node(transactions: readonly Paid[]) {
  const calldataOf: number[] = []
  const rpc: Rpc = {
    async attempt(_method, [asked]) {
      const { fromBlock, toBlock, topics } = asked as { fromBlock: Hex; toBlock: Hex; topics: string[] }
      expect(topics).toEqual([TRANSFER_TOPIC, `0x${addressWord(PAYER)}`, `0x${addressWord(SELLER)}`])
      if (Number(toBlock) - Number(fromBlock) >= 200)
        return { ok: false, error: { code: -32000, message: 'too many blocks' } }
      const result = transactions.flatMap(({ height, value = '1858' }, index) =>
        height < Number(fromBlock) || height > Number(toBlock)
          ? []
          : {
              ...{
                address: network.token.address,
                topics,
                data: `0x${word(BigInt(value))}`,
                logIndex: '0x1',
              },
              transactionHash: hashOf(index),
              ...{ blockNumber: `0x${height.toString(16)}`, blockHash: latest.hash },
            },
      )
      return { ok: true, result }
    },
    async call(method, [hash]) {
      if (method === 'eth_getBlockByNumber') return latest
      expect(method).toBe('eth_getTransactionByHash')
      const index = transactions.findIndex((_, at) => hashOf(at) === hash)
      calldataOf.push(index)
      const { permit = PERMIT, to = UPTO_PROXY_ADDRESS } = transactions[index]!
      return { to, input: encodeSettle(permit).data }
    },
  }
  const blocks = createBlockClock(() => false, 2_000)
  const search = createSettlementSearch({ rpc, network, searchMined: createMinedSearch(rpc, blocks) })
  return { calldataOf, find: (fromHeight: number) => search.findSettlement(PERMIT, fromHeight) }
}

test('the settlement of a permit is found by its transfer and the nonce in its calldata', async () => {
  const { find, calldataOf } = node([
    { height: 899 },
    { height: 950, value: '1857' },
    { height: 960, permit: { ...PERMIT, nonce: '78' } },
    // A plain transfer of as much.
    { height: 970, to: network.token.address },
    { height: 1480 },
  ])
  expect(await find(900)).toMatchObject({ at: { number: 1500 }, txHash: hashOf(4) })
  expect(calldataOf).toEqual([2, 3, 4])
})

test('without one nothing is found, up to the latest block', async () => {
  const { find } = node([{ height: 899 }, { height: 960, permit: { ...PERMIT, nonce: '78' } }])
  expect(await find(900)).toEqual({ at: expect.objectContaining({ number: 1500 }) })
  expect(await find(1501)).toEqual({ at: expect.objectContaining({ number: 1500 }) })
})
