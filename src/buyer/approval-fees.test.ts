import { expect, test } from 'vitest'
import { approvalFees } from './approval-fees.ts'
import type { Ask } from './rpc-call.ts'

const GWEI = 1_000_000_000n
const from = `0x${'11'.repeat(20)}` as const
const transaction = { from, to: `0x${'22'.repeat(20)}`, data: '0x' } as const
const hex = (value: bigint) => `0x${value.toString(16)}`

/** A node of a chain with these prices, and a payer that holds this much. */
function node({
  base = GWEI as bigint | null,
  price = 2n * GWEI,
  gas = 50_000n,
  held = 10n ** 18n,
} = {}): Ask {
  const answers: Record<string, unknown> = {
    eth_getBlockByNumber: base === null ? {} : { baseFeePerGas: hex(base) },
    eth_gasPrice: hex(price),
    eth_getBalance: hex(held),
    eth_estimateGas: hex(gas),
  }
  return async (method) => answers[method]
}

test('an approval may take a fifth more gas than estimated, at up to twice the price', async () => {
  expect(await approvalFees(node(), 'eip155:8453', transaction)).toEqual({
    ...{ type: 'eip1559', gas: 60_000n },
    ...{ maxFeePerGas: 4n * GWEI, maxPriorityFeePerGas: GWEI },
  })
})

test('on a chain without a base fee it has a gas price', async () => {
  expect(await approvalFees(node({ base: null }), 'eip155:31337', transaction)).toEqual({
    ...{ type: 'legacy', gas: 60_000n, gasPrice: 2n * GWEI },
  })
})

test('the most that is paid per gas on a known network is never passed', async () => {
  const { maxFeePerGas } = (await approvalFees(node({ price: 4n * GWEI }), 'eip155:8453', transaction)) as {
    maxFeePerGas: bigint
  }
  expect(maxFeePerGas).toBe(5n * GWEI)
})

test.each([
  ['dear gas', { price: 6n * GWEI }, 'gas costs 6 gwei now; at most 5 are paid'],
  ['gas beyond reason', { gas: 900_000n }, 'it takes 900000 gas, which cannot be'],
  ['no coins', { held: 0n }, `${from} holds no ETH`],
  ['too few coins', { held: 10n ** 12n }, `it may cost 0.000240 ETH of gas, and ${from} holds 0.000001`],
])('%s: one clear line', async (_name, change, message) => {
  await expect(approvalFees(node(change), 'eip155:8453', transaction)).rejects.toThrow(message)
})
