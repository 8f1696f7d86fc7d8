import { expect, test } from 'vitest'
import { readHead } from './final-block.ts'
import type { Rpc } from './rpc.ts'

/** A node at this block, which knows no tag `finalized`. */
function nodeAt(height: number): { rpc: Rpc; asked: unknown[] } {
  const asked: unknown[] = []
  const attempt: Rpc['attempt'] = async (_method, [which]) => {
    asked.push(which)
    if (which === 'finalized') return { ok: false, error: { code: -32602, message: 'unknown tag' } }
    const number = which === 'latest' ? height : Number(which)
    const hash = `0x${number.toString(16).padStart(64, '0')}`
    return { ok: true, result: { number: `0x${number.toString(16)}`, hash, timestamp: '0x1' } }
  }
  const call: Rpc['call'] = async (method, params) => {
    const answer = await attempt(method, params)
    return answer.ok ? answer.result : Promise.reject(new Error(answer.error.message))
  }
  return { rpc: { attempt, call }, asked }
}

test.each([
  { height: 1000, depth: 64, final: 936 },
  { height: 1000, depth: 0, final: 1000 },
  { height: 10, depth: 64, final: 0 },
])('with a depth, the final block is that many below the latest and never below 0: %o', async (given) => {
  const { rpc, asked } = nodeAt(given.height)
  const { latest, finalized } = await readHead(rpc, given.depth)
  expect([latest.number, finalized.number]).toEqual([given.height, given.final])
  expect(asked).not.toContain('finalized')
})

test('without a depth, a node that does not know what is final is no substitute', async () => {
  await expect(readHead(nodeAt(1000).rpc, null)).rejects.toThrow(/knows the tag 'finalized'/)
})
