import { expect, test } from 'vitest'
import { findNetwork, NETWORKS } from '../protocol/networks.ts'
import { gasPolicyOf, weiOf } from './gas-fees.ts'
import { readWalletState } from './read-wallet.ts'
import type { Rpc } from './rpc.ts'
import type { RpcAnswer } from './rpc-answer.ts'

const GWEI = 1_000_000_000n
const WALLET = `0x${'aa'.repeat(20)}` as const

/** A node with these answers; it knows no other method. */
function nodeWith(answers: Record<string, unknown>): Rpc {
  const attempt = async (method: string): Promise<RpcAnswer> =>
    method in answers
      ? { ok: true, result: answers[method] }
      : { ok: false, error: { code: -32601, message: 'unknown method' } }
  return {
    attempt,
    async call(method) {
      const answer = await attempt(method)
      if (!answer.ok) throw new Error(`${method} must not be asked`)
      return answer.result
    },
  }
}
const wallet = { eth_getTransactionCount: '0x7', eth_getBalance: '0x64' }
const block = { eth_getBlockByNumber: { baseFeePerGas: '0x3b9aca00' } }

test.each([
  { tip: 30, floor: 25, expected: 30n * GWEI },
  { tip: 1, floor: 25, expected: 25n * GWEI },
  { tip: undefined, floor: 25, expected: 25n * GWEI },
  { tip: undefined, floor: 0, expected: GWEI / 1000n },
  { tip: undefined, floor: 0.0005, expected: GWEI / 1000n },
  { tip: 0, floor: 0, expected: 0n },
])(
  'the tip is what the node says, and at least the floor of the network: %o',
  async ({ tip, floor, expected }) => {
    const says = tip === undefined ? {} : { eth_maxPriorityFeePerGas: `0x${weiOf(tip).toString(16)}` }
    const fees = { minTipGwei: floor, maxGwei: 5, legacy: false }
    expect(await readWalletState(nodeWith({ ...wallet, ...block, ...says }), WALLET, fees)).toEqual({
      nonce: 7,
      balanceWei: 100n,
      baseFeeWei: GWEI,
      priorityFeeWei: expected,
    })
  },
)

test('without EIP-1559 the gas price is all there is, and no base fee is asked for', async () => {
  const node = nodeWith({ ...wallet, eth_gasPrice: '0x77359400' })
  const fees = { minTipGwei: 1, maxGwei: 5, legacy: true }
  expect(await readWalletState(node, WALLET, fees)).toMatchObject({
    baseFeeWei: 0n,
    priorityFeeWei: 2n * GWEI,
  })
  const floor = { ...fees, minTipGwei: 3.5 }
  expect(await readWalletState(node, WALLET, floor)).toMatchObject({ priorityFeeWei: (7n * GWEI) / 2n })
})

test('cap, patience and coin are those of the network', () => {
  const policy = (word: string) => gasPolicyOf(findNetwork(word)!)
  expect(policy('base')).toEqual({ maxFeePerGasWei: 5n * GWEI, bumpAfterMs: 12_000, symbol: 'ETH' })
  expect(policy('polygon')).toEqual({ maxFeePerGasWei: 2_000n * GWEI, bumpAfterMs: 12_000, symbol: 'POL' })
  expect(policy('ethereum')).toEqual({ maxFeePerGasWei: 100n * GWEI, bumpAfterMs: 36_000, symbol: 'ETH' })
  for (const network of NETWORKS) {
    expect(gasPolicyOf(network).maxFeePerGasWei).toBeGreaterThan(weiOf(network.fees.minTipGwei))
  }
})
