import { expect, test } from 'vitest'
import { leastPriceMicro } from './gas-cost.ts'

const GWEI = 1_000_000_000n
const coin = { native: { symbol: 'ETH', usd: 5000 } }

test('the least price pays for the gas of a settlement with its allowed share', () => {
  // 80,000 gas at 10 gwei are 0.0008 coins, which are $4.
  expect(leastPriceMicro(coin, 10n * GWEI, 0.5)).toBe(8_000_000)
  expect(leastPriceMicro(coin, 10n * GWEI, 1)).toBe(4_000_000)
  expect(leastPriceMicro(coin, 10n * GWEI, 0)).toBe(Number.POSITIVE_INFINITY)
  expect(leastPriceMicro(coin, 0n, 0)).toBe(0)
})
