import { expect, test } from 'vitest'
import { TRANSFER_TOPIC } from '../chain/erc20.ts'
import type { Rpc } from '../chain/rpc.ts'
import { findNetwork } from '../protocol/networks.ts'
import { createTokenBook } from './token-book.ts'

const NETWORK = findNetwork('testnet')!
const ASSET = NETWORK.token.address
const SELLER = `0x${'5e'.repeat(20)}` as const
const BUYER = `0x${'b0'.repeat(20)}` as const
const topic = (address: string) => `0x${'0'.repeat(24)}${address.slice(2)}`

/** A node that refuses more than `allowed` blocks in one query, and has one transfer in each block. */
function narrowNode(allowed: number): { rpc: Rpc; asked: Array<[number, number]> } {
  const asked: Array<[number, number]> = []
  const attempt: Rpc['attempt'] = async (_method, [filter]) => {
    const { fromBlock, toBlock, topics } = filter as { fromBlock: string; toBlock: string; topics: unknown[] }
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    if (to - from + 1 > allowed) return { ok: false, error: { code: -32005, message: 'too many blocks' } }
    if (topics.length === 2) return { ok: true, result: [] }
    asked.push([from, to])
    const result = Array.from({ length: to - from + 1 }, (_, index) => ({
      address: ASSET,
      topics: [TRANSFER_TOPIC, topic(BUYER), topic(SELLER)],
      data: '0x05',
      logIndex: '0x0',
      transactionHash: `0x${(from + index).toString(16).padStart(64, '0')}`,
      blockNumber: `0x${(from + index).toString(16)}`,
      blockHash: `0x${'cc'.repeat(32)}`,
      removed: false,
    }))
    return { ok: true, result }
  }
  return { rpc: { attempt, call: () => Promise.reject(new Error('not asked')) }, asked }
}

test('a node that allows few blocks per query gets small queries, and no block is left out or read twice', async () => {
  const { rpc, asked } = narrowNode(7)
  const progress: number[] = []
  const book = createTokenBook(rpc, NETWORK)
  const { incoming, outgoing } = await book.movements(
    { receiving: [SELLER], sending: [SELLER] },
    100,
    139,
    (block) => progress.push(block),
  )
  expect(outgoing).toEqual([])
  expect(incoming.map(({ blockNumber }) => blockNumber)).toEqual(
    Array.from({ length: 40 }, (_, i) => 100 + i),
  )
  expect(incoming[0]).toMatchObject({ from: BUYER, to: SELLER, value: '5' })
  expect(asked.every(([from, to]) => to - from < 7)).toBe(true)
  expect(progress.at(-1)).toBe(139)
})

test('a node that refuses even one block is an error, not an empty chain', async () => {
  const book = createTokenBook(narrowNode(0).rpc, NETWORK)
  const looked = book.movements({ receiving: [SELLER], sending: [SELLER] }, 1, 9, () => {})
  await expect(looked).rejects.toThrow(/eth_getLogs: too many blocks/)
})
