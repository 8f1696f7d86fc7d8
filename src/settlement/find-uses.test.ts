import { expect, test } from 'vitest'
import { createUseSearch } from './find-uses.ts'
import type { Rpc } from './rpc.ts'

const ASSET = `0x${'a5'.repeat(20)}` as const
const KEY = { payer: `0x${'b0'.repeat(20)}` as const, nonce: `0x${'01'.repeat(32)}` as const }
const latest = { number: '0x5dc', hash: `0x${'cc'.repeat(32)}`, timestamp: '0x1' } // 1500

/** A node at block 1500 whose answers to `eth_getLogs` fail as `fails` says. */
function node(fails: (asked: number, blocks: number) => boolean) {
  const asked: number[] = []
  const attempt: Rpc['attempt'] = async (_method, [filter]) => {
    const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string }
    const blocks = Number(toBlock) - Number(fromBlock) + 1
    asked.push(blocks)
    if (fails(asked.length, blocks)) return { ok: false, error: { code: -32000, message: 'sorry' } }
    return { ok: true, result: [] }
  }
  const rpc: Rpc = { attempt, call: async () => latest }
  const { uses } = createUseSearch(rpc, ASSET)
  /** The queries of one look at 621 blocks. */
  const look = async () => {
    asked.length = 0
    await uses([KEY], 880)
    return [...asked]
  }
  return { look }
}

test('nine errors in a row cost this look a few queries and the next ones hardly any', async () => {
  let errors = 9
  const { look } = node(() => errors-- > 0)
  expect((await look()).length).toBeLessThan(25)
  expect((await look()).length).toBeLessThan(5)
})

test('a node that allows few blocks is asked for more only once', async () => {
  const { look } = node((_, blocks) => blocks > 200)
  await look()
  const queries = await look()
  expect(queries.every((blocks) => blocks <= 200)).toBe(true)
  expect(queries.reduce((sum, blocks) => sum + blocks, 0)).toBe(621)
})
