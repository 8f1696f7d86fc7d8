import { decodeFunctionData, encodeAbiParameters, type Hex, multicall3Abi, toHex } from 'viem'
import { expect, test } from 'vitest'
import { ARBITRUM_HEIGHT_CALL } from '../../chain/multicall.ts'
import { type Rpc, resultOf } from '../../chain/rpc.ts'
import type { RpcAnswer, RpcFailure } from '../../chain/rpc-answer.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { createSimulation } from './simulate.ts'

const HEIGHT = 400_000_000
const HEIGHT_ON_ETHEREUM = 23_000_000
const SECONDS = 1_750_000_000
const network = findNetwork('arbitrum')!

const number = (value: number) => encodeAbiParameters([{ type: 'uint256' }], [BigInt(value)])

/** A node of Arbitrum; `fails` is what it answers to the precompile that knows the height, while it is set. */
function arbitrumNode() {
  const node = { fails: undefined as RpcAnswer | undefined, asked: 0 }
  const inContract = (target: string, data: string): Hex => {
    if (target.toLowerCase() === ARBITRUM_HEIGHT_CALL.to) return number(HEIGHT)
    return number(data === '0x42cbb15c' ? HEIGHT_ON_ETHEREUM : SECONDS)
  }
  const answer = (method: string, params: readonly unknown[]): RpcAnswer => {
    if (method === 'eth_getBlockByNumber') {
      const at = params[0] === 'latest' ? toHex(HEIGHT) : (params[0] as Hex)
      const timestamp = toHex(at === toHex(HEIGHT) ? SECONDS : SECONDS - 1_000_000)
      return { ok: true, result: { number: at, hash: `0x${'ab'.repeat(32)}`, timestamp } }
    }
    const { to, data } = params[0] as { to: string; data: Hex }
    if (to === ARBITRUM_HEIGHT_CALL.to) {
      node.asked++
      return node.fails ?? { ok: true, result: number(HEIGHT) }
    }
    const { functionName, args } = decodeFunctionData({ abi: multicall3Abi, data })
    if (functionName !== 'aggregate3') throw new Error(`unexpected call of ${functionName}`)
    const results = args[0].map(({ target, callData }) => ({
      success: true,
      returnData: inContract(target, callData),
    }))
    const shape = {
      type: 'tuple[]',
      components: [
        { name: 'success', type: 'bool' },
        { name: 'returnData', type: 'bytes' },
      ],
    } as const
    return { ok: true, result: encodeAbiParameters([shape], [results]) }
  }
  const rpc: Rpc = {
    attempt: async (method, params) => answer(method, params),
    call: async (method, params) => resultOf(method, answer(method, params)),
  }
  const simulate = createSimulation(rpc, network, () => Promise.reject(new Error('no sender')))
  return { node, look: () => simulate([]) }
}

const error = (failure: RpcFailure): RpcAnswer => ({ ok: false, error: failure })

test.each<[string, RpcAnswer]>([
  ['an internal error', error({ code: -32603, message: 'Internal error' })],
  ['a block that the node lacks', error({ code: -32000, message: 'header not found' })],
  ['a busy node', error({ code: -32005, message: 'rate limit' })],
  ['an empty answer', { ok: true, result: '0x' }],
])('what the height is read by is asked again after %s', async (_, answer) => {
  const { node, look } = arbitrumNode()
  node.fails = answer
  await expect(look()).rejects.toThrow('a block that changed while it was read')
  node.fails = undefined
  expect((await look()).at.number).toBe(HEIGHT)
  node.asked = 0
  expect((await look()).at.number).toBe(HEIGHT)
  expect(node.asked, 'and then it is known').toBe(0)
})
