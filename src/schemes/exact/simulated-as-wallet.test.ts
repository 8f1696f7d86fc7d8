import { expect, test } from 'vitest'
import type { Rpc } from '../../chain/rpc.ts'
import type { Address } from '../../protocol/hex.ts'
import { findNetwork } from '../../protocol/networks.ts'
import type { SignedAuthorization } from './authorization.ts'
import { createSimulation } from './simulate.ts'

const network = findNetwork('base')!
const account = (digit: string): Address => `0x${digit.repeat(40)}`
const word = (value: bigint) => value.toString(16).padStart(64, '0')
const GWEI = 1_000_000_000n

const auth: SignedAuthorization = {
  ...{ from: account('a'), to: account('b'), value: '1', validAfter: '0', validBefore: '9999999999' },
  ...{ nonce: `0x${'01'.repeat(32)}`, signature: `0x${'02'.repeat(70)}` },
}

/** Multicall3's answer: each call gave one word. */
function aggregated(values: readonly bigint[]): string {
  const items = values.map((value) => word(1n) + word(64n) + word(32n) + word(value))
  const offsets = items.map((_, index) => word(BigInt(items.length * 32 + index * 128)))
  return `0x${word(32n)}${word(BigInt(items.length))}${offsets.join('')}${items.join('')}`
}

/** A payer with code, which is found in the first round and run by itself in the second; its own call fails with these words, as on a node that asks what the sender holds. */
function simulate(balanceWei: bigint, message: string) {
  const answers = [aggregated([5n, 9n, 0n, 1n]), aggregated([5n, 9n, 0n])]
  const node = {
    async call(method: string) {
      if (method === 'eth_getBlockByNumber')
        return { number: '0x5', hash: `0x${'1'.repeat(64)}`, timestamp: '0x9' }
      return method === 'eth_getCode' ? '0x60' : answers.shift()
    },
    async attempt(method: string) {
      if (method === 'eth_call') return { ok: true, result: '0x' }
      return { ok: false, error: { code: -32000, message } }
    },
  } as unknown as Rpc
  const state = { nonce: 0, balanceWei, baseFeeWei: GWEI, priorityFeeWei: GWEI }
  return createSimulation(node, network, async () => state)([auth], account('9'))
}

test.each(['insufficient funds for transfer', 'gas required exceeds allowance (21)'])(
  'while the gas wallet cannot pay, "%s" says nothing of the payer',
  async (message) => {
    await expect(simulate(GWEI, message)).rejects.toThrow('the gas wallet')
  },
)

test('what fails although the gas wallet can pay is the payer’s', async () => {
  const { results } = await simulate(10n ** 18n, 'gas required exceeds allowance (300000)')
  expect(results).toEqual([{ kind: 'fails', reason: 'out_of_gas' }])
})
