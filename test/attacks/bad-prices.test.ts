import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ConfigError } from '../../src/errors.ts'
import { createGateway } from '../../src/gateway.ts'

const SELLER = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F'

async function faultsOf(prices: string[]): Promise<readonly string[]> {
  const plans = prices.map((unitAmount, index) => ({ planId: `plan-${index}`, unitAmount }))
  const started = createGateway({
    walletAddress: SELLER,
    plans,
    tokenSecret: 'x'.repeat(32),
    store: 'memory',
  })
  const error = await started.catch((cause: unknown) => cause)
  expect(error).toBeInstanceOf(ConfigError)
  return (error as ConfigError).faults
}

const BAD = ['$0.0000001', '$1,000', '1.00', '$-1', '$ 1', '$0', '$0.000000', '$1e3', '', '$']

test.each(BAD)('attack 25: the price "%s" refuses to start, in one line that names it', async (price) => {
  const faults = await faultsOf([price])
  expect(faults).toHaveLength(1)
  expect(faults[0]).toContain('plans[0].unitAmount')
  expect(faults[0]).toContain(JSON.stringify(price))
  expect(faults[0]).not.toContain('\n')
})

test('attack 25: all bad prices are reported together', async () => {
  expect(await faultsOf(BAD)).toHaveLength(BAD.length)
})

test('attack 25: the server itself refuses to start: one line per price, and no stack trace', () => {
  const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
  const plans = BAD.map((unitAmount, index) => ({ planId: `plan-${index}`, unitAmount }))
  const { status, stderr } = spawnSync(process.execPath, [main, 'serve'], {
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH ?? '',
      PORT: '0',
      SVC_WALLET_ADDRESS: SELLER,
      TOKEN_SECRET: 'x'.repeat(32),
      SVC_MANAGED_INFRA: 'none',
      PLANS: JSON.stringify(plans),
    },
  })
  expect(status).toBe(1)
  const lines = stderr.trim().split('\n')
  expect(lines).toHaveLength(BAD.length)
  for (const [index, line] of lines.entries()) expect(line).toMatch(new RegExp(`PLANS.*\\[${index}\\]`))
})
