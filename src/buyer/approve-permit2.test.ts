import { parseTransaction } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { PERMIT2_ADDRESS } from '../protocol/permit2.ts'
import { approvePermit2 } from './approve-permit2.ts'
import { BUYER_NETWORKS } from './buyer-networks.ts'
import { memoryStorage } from './memory-storage.ts'

const { id: network, asset, chainId } = BUYER_NETWORKS.find(({ id }) => id === 'eip155:84532')!
const account = privateKeyToAccount(generatePrivateKey())
const permit = {
  ...{ scheme: 'upto' as const, from: account.address, asset, nonce: 1n, deadline: '0' },
  maxUnits: 20_000n,
}
const payment = { header: '', subject: '', network, amount: '20000', validBefore: '0' }
const word = (value: bigint) => `0x${value.toString(16).padStart(64, '0')}`

/** A node whose answers to a sent transaction are not always those of a healthy one. */
function scene(onSend: (node: { allowance: bigint; mined: number; pooled: number }) => unknown) {
  const node = { allowance: 0n, mined: 5, pooled: 0 }
  const sent: `0x${string}`[] = []
  const answers: Record<string, (params: string[]) => unknown> = {
    eth_chainId: () => `0x${chainId.toString(16)}`,
    eth_call: () => word(node.allowance),
    eth_getBlockByNumber: () => ({ baseFeePerGas: '0x1' }),
    eth_blockNumber: () => '0x7',
    eth_gasPrice: () => '0x2',
    eth_getBalance: () => '0xffffffffff',
    eth_estimateGas: () => '0xc350',
    eth_getTransactionCount: ([, block]) =>
      `0x${(node.mined + (block === 'pending' ? node.pooled : 0)).toString(16)}`,
    eth_sendRawTransaction: ([raw]) => {
      sent.push(raw as `0x${string}`)
      return onSend(node)
    },
  }
  const fakeFetch: typeof fetch = async (_input, init) => {
    const { method, params } = JSON.parse(String(init?.body)) as { method: string; params: string[] }
    const result = answers[method]!(params)
    return Response.json(result instanceof Error ? { error: { message: result.message } } : { result })
  }
  let nowMs = 0
  const context = {
    ...{ account, approval: {}, fetch: fakeFetch, storage: memoryStorage(), onStep: () => {} },
    clock: {
      now: () => nowMs,
      sleep: async (ms: number) => {
        nowMs += ms
      },
    },
    rpcUrlsOf: () => ['https://rpc.example.com'],
  }
  const approve = () => approvePermit2(context, payment, permit, { deadlineMs: nowMs + 5_000 })
  return { approve, sent, node }
}

test('approves exactly the maximum for Permit2', async () => {
  const { approve, sent } = scene((node) => {
    Object.assign(node, { allowance: 20_000n, mined: 6 })
    return word(1n)
  })
  expect(await approve()).toBeUndefined()
  const { to, data, nonce, chainId: signedFor } = parseTransaction(sent[0]!)
  expect({ to, nonce, signedFor }).toEqual({ to: asset, nonce: 5, signedFor: chainId })
  expect(data).toBe(`0x095ea7b3${word(BigInt(PERMIT2_ADDRESS)).slice(2)}${word(20_000n).slice(2)}`)
  expect(await approve()).toBeUndefined()
  expect(sent).toHaveLength(1)
})

test('an approval that is not mined in time, or whose answer was lost, is sent again and not signed again', async () => {
  let times = 0
  const { approve, sent, node } = scene((at) => {
    times++
    at.pooled = 1
    if (times === 1) throw new Error('connection reset')
    return new Error('already known')
  })
  expect(await approve()).toContain('it is not mined yet; buy again, and the same one is sent')
  expect(await approve()).toContain('it is not mined yet')
  Object.assign(node, { allowance: 20_000n, mined: 6, pooled: 0 })
  expect(await approve()).toBeUndefined()
  expect([sent.length, new Set(sent).size]).toEqual([2, 1])
})

test('one that the node refuses is followed by another with the same nonce', async () => {
  const { approve, sent } = scene(() => new Error('max fee per gas less than block base fee'))
  expect(await approve()).toContain('the node refused the approval (eth_sendRawTransaction: max fee per gas')
  await approve()
  expect(sent.map((raw) => parseTransaction(raw).nonce)).toEqual([5, 5])
})

test('one that was mined without effect is not repeated', async () => {
  const { approve, sent } = scene((node) => {
    node.mined = 6
    return word(1n)
  })
  expect(await approve()).toContain('mined, reverted or replaced, and the allowance is still too low')
  expect(sent).toHaveLength(1)
})
