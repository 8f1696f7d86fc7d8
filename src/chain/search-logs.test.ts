import { expect, test } from 'vitest'
import type { Rpc } from './rpc.ts'
import { createLogSearch } from './search-logs.ts'

/** A node that answers every query, except when `fails` says so. */
function node(fails: (asked: number) => boolean = () => false) {
  const spans: number[] = []
  const rpc: Rpc = {
    async attempt(_method, [filter]) {
      const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string }
      spans.push(Number(toBlock) - Number(fromBlock) + 1)
      if (fails(spans.length)) return { ok: false, error: { code: -32000, message: 'sorry' } }
      return { ok: true, result: [] }
    },
    call: () => Promise.reject(new Error('not asked')),
  }
  return { rpc, spans }
}
const ADDRESS = `0x${'a5'.repeat(20)}` as const

test.each([100, 2_000])('no query spans more blocks than the network allows: %i', async (range) => {
  const { rpc, spans } = node()
  await createLogSearch(ADDRESS, range)(rpc, [[null]], { from: 0, to: 9_999 })
  expect(Math.max(...spans)).toBe(range)
  expect(spans.reduce((sum, span) => sum + span, 0)).toBe(10_000)
})

test('a few errors at the beginning do not make queries small for the rest, and never larger than allowed', async () => {
  const { rpc, spans } = node((asked) => asked <= 3)
  await createLogSearch(ADDRESS, 1_000)(rpc, [[null]], { from: 0, to: 99_999 })
  expect(spans.length).toBeLessThan(115)
  expect(Math.max(...spans)).toBe(1_000)
})
