import { expect, test } from 'vitest'
import type { ChainClient } from '../../chain/chain-client.ts'
import type { Rpc } from '../../chain/rpc.ts'
import type { WalletState } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import { findNetwork } from '../../protocol/networks.ts'
import type { SignedPermit } from './permit.ts'
import { createUptoSimulation } from './simulate.ts'

const network = findNetwork('base')!
const account = (digit: string): Address => `0x${digit.repeat(40)}`
const word = (value: bigint) => value.toString(16).padStart(64, '0')
const GWEI = 1_000_000_000n

const permitBy = (facilitator: Address): SignedPermit => ({
  ...{ from: account('a'), token: network.token.address, amount: '1000', spender: account('5'), nonce: '7' },
  ...{ deadline: '9999999999', to: account('b'), facilitator, validAfter: '0', signature: '0x12' },
})

/** Multicall3's answer of three words: the nonce is unused, allowance and balance suffice. */
function funds(): string {
  const item = (value: bigint) => word(1n) + word(64n) + word(32n) + word(value)
  const items = [0n, 5_000n, 5_000n].map(item)
  const offsets = items.map((_, index) => word(BigInt(96 + index * 128)))
  return `0x${word(32n)}${word(3n)}${offsets.join('')}${items.join('')}`
}

/** A node like geth: an estimate with fees is capped by what the sender holds. */
function simulation(balances: Record<Address, bigint>) {
  const asked: Array<Record<string, string>> = []
  const node = {
    async call(method: string) {
      if (method === 'eth_getBlockByNumber')
        return { number: '0x5', hash: `0x${'1'.repeat(64)}`, timestamp: '0x9' }
      return method === 'eth_getCode' ? '0x' : funds()
    },
    async attempt(_method: string, [request]: [Record<string, string>]) {
      asked.push(request)
      if (request.maxFeePerGas === undefined) return { ok: true, result: '0x186a0' }
      const balance = balances[request.from as Address]!
      if (balance === 0n)
        return { ok: false, error: { code: -32000, message: 'insufficient funds for transfer' } }
      if (balance < 90_000n * BigInt(request.maxFeePerGas))
        return { ok: false, error: { code: -32000, message: 'gas required exceeds allowance (21)' } }
      return { ok: true, result: '0x186a0' }
    },
  }
  const lastWalletState = async (wallet: Address): Promise<WalletState> => {
    return { nonce: 0, balanceWei: balances[wallet]!, baseFeeWei: GWEI, priorityFeeWei: GWEI }
  }
  const client = { rpc: node as unknown as Rpc, network, lastWalletState } as unknown as ChainClient
  return { asked, simulate: createUptoSimulation(client) }
}

test('a wallet of ours that is empty is not blamed on the payer, and fails no other payment', async () => {
  const [empty, poor, rich] = [account('1'), account('2'), account('3')]
  const { asked, simulate } = simulation({ [empty]: 0n, [poor]: GWEI, [rich]: 10n ** 18n })
  const { results } = await simulate([empty, poor, rich].map(permitBy))
  expect(results).toMatchObject([
    { kind: 'ok', sender: empty },
    { kind: 'ok', sender: poor },
    { kind: 'ok', sender: rich },
  ])
  expect(asked.map(({ from, maxFeePerGas }) => [from, maxFeePerGas !== undefined])).toEqual([
    [empty, false],
    [poor, false],
    [rich, true],
  ])
})
