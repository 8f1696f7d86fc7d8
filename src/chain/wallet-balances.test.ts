import { expect, test } from 'vitest'
import { findNetwork } from '../protocol/networks.ts'
import { readBalances } from './wallet-balances.ts'

const polygon = findNetwork('polygon')!
const ADDRESS = `0x${'5e'.repeat(20)}` as const
const state = { nonce: 0, balanceWei: 5n, baseFeeWei: 10n ** 9n, priorityFeeWei: 0n }

test.each([
  [6, 2_500_000n],
  [18, 2_500_000_999_999_999_999n],
])('a token with %i decimals is shown in micro-dollars, rounded down', async (decimals, units) => {
  const network = { ...polygon, token: { ...polygon.token, decimals } }
  const chain = { network, balanceOf: async () => units, wallet: async () => state }
  expect(await readBalances(chain, [{ role: 'refund', address: ADDRESS }])).toEqual([
    { role: 'refund', address: ADDRESS, usdcMicro: 2_500_000n },
  ])
})
