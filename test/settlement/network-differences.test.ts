import { afterAll, beforeAll, expect, test } from 'vitest'
import { createChainClient } from '../../src/chain/chain-client.ts'
import { gasPolicyOf } from '../../src/chain/gas-fees.ts'
import { createRpcPool } from '../../src/chain/rpc-pool.ts'
import type { Hex } from '../../src/protocol/hex.ts'
import type { Network } from '../../src/protocol/network.ts'
import { findNetwork } from '../../src/protocol/networks.ts'
import { authorizationKey } from '../../src/schemes/exact/authorization.ts'
import { createExactScheme } from '../../src/schemes/exact/create-exact-scheme.ts'
import { createSignatures } from '../../src/schemes/exact/signatures.ts'
import { createWalletSigner } from '../../src/schemes/wallet-signer.ts'
import { createGasWallet } from '../../src/settlement/gas-wallet.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { type DevChain, startDevChain } from '../../src/testing/dev-chain.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { startRemoteRpc } from '../e2e/remote-rpc.ts'
import { signTransfer } from './sign-transfer.ts'

const usual = findNetwork('testnet')!
let dev: DevChain
beforeAll(async () => {
  dev = await startDevChain()
})
afterAll(() => dev.stop())

const clientOn = (network: Network) => createChainClient({ rpcUrl: dev.rpcUrl, network })
const schemeOn = (network: Network) =>
  createExactScheme(clientOn(network), createSignatures({ rpcUrl: dev.rpcUrl, network }))

/** Settles one payment by a gas wallet of this network. */
async function settle(network: Network, accountIndex: number) {
  const store = createMemoryStore()
  const signer = createWalletSigner(dev.account(accountIndex).privateKey, network)
  const wallet = createGasWallet({
    chainId: network.chainId,
    chain: clientOn(network),
    store,
    clock: createFakeClock(),
    alerts: { raise() {} },
    signers: [signer],
    ...gasPolicyOf(network),
  })
  const auth = await signTransfer(await dev.newBuyer({ micro: 1000n }))
  const key = authorizationKey(network, auth.from, auth.nonce)
  const [batch] = await wallet.makeBatches([
    { member: { kind: 'payment', key }, signed: auth, alone: false, batchLimit: null },
  ])
  await store.commit({ puts: batch!.puts })
  expect(await batch!.send()).toEqual({ kind: 'sent' })
  return { key, hash: batch!.puts[0]!.row.hashes[0]!, wallet }
}

const ask = async (method: string, params: unknown[]): Promise<unknown> => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(dev.rpcUrl, { method: 'POST', headers, body })
  return ((await answer.json()) as { result: unknown }).result
}

test('a network without EIP-1559 is settled with the gas price alone', async () => {
  const network = { ...usual, fees: { minTipGwei: 0, maxGwei: 50, legacy: true } }
  const { hash, wallet } = await settle(network, 10)
  const receipt = await dev.client.waitForTransactionReceipt({ hash })
  expect(receipt).toMatchObject({ status: 'success', type: 'legacy' })
  expect(await wallet.gasPriceWei?.()).toBeGreaterThan(0n)
})

test('the floor of the tip is offered, and the cap is kept', async () => {
  const floor = { ...usual, fees: { minTipGwei: 25, maxGwei: 2_000, legacy: false } }
  const { hash } = await settle(floor, 11)
  expect(await dev.client.getTransaction({ hash })).toMatchObject({ maxPriorityFeePerGas: 25_000_000_000n })
  const capped = { ...usual, fees: { minTipGwei: 25, maxGwei: 7, legacy: false } }
  const tight = await settle(capped, 12)
  expect(await dev.client.getTransaction({ hash: tight.hash })).toMatchObject({
    maxFeePerGas: 7_000_000_000n,
    maxPriorityFeePerGas: 7_000_000_000n,
  })
})

test('where final blocks are known by their depth, the head has that block', async () => {
  await dev.mine(8)
  const { latest, finalized } = await clientOn({ ...usual, finalDepth: 5 }).head()
  expect(latest.number - finalized.number).toBe(5)
})

test('on Arbitrum, where contracts see the height of Ethereum, the chain itself is asked for its height', async () => {
  const at = '0x0000000000000000000000000000000000000064'
  const auth = await signTransfer(await dev.newBuyer({ micro: 1000n }))
  // The last two blocks have different times.
  await dev.increaseTime(10)
  const looked = async () => (await schemeOn(usual).simulate([auth])).at.number
  const height = await looked()
  // NUMBER, as 32 bytes.
  await ask('anvil_setCode', [at, '0x4360005260206000f3'])
  expect(await looked()).toBe(height)
  // NUMBER - 1: that this is noticed shows that the answer counts.
  await ask('anvil_setCode', [at, '0x6001430360005260206000f3'])
  await expect(looked()).rejects.toThrow(/a block that changed/)
  await ask('anvil_setCode', [at, '0x'])
})

test('if a node fails between the latest block and the logs, the next one does the whole search', async () => {
  const [first, second] = await Promise.all([startRemoteRpc(dev.rpcUrl), startRemoteRpc(dev.rpcUrl)])
  try {
    const from = (await clientOn(usual).head()).latest.number
    const { key, hash } = await settle(usual, 13)
    await dev.client.waitForTransactionReceipt({ hash })
    const network = { ...usual, rpcUrls: [first.url, second.url] }
    const rpc = createRpcPool(network)
    const scheme = createExactScheme(createChainClient({ rpc, network }), createSignatures({ rpc, network }))
    await rpc.compare()
    first.lie = (method, _params, result) => {
      if (method === 'eth_getLogs') throw new Error('gone')
      return result
    }
    second.reset()
    const { found } = await scheme.uses([key], from)
    expect(found).toMatchObject([{ kind: 'transfer', key, txHash: hash satisfies Hex }])
    expect(second.calls).toMatchObject({ eth_getBlockByNumber: expect.any(Number), eth_getLogs: 1 })
  } finally {
    await Promise.all([first.stop(), second.stop()])
  }
})

test('a node that hides the newest blocks and their logs is left out, so that no payment is missed', async () => {
  const [lagging, good] = await Promise.all([startRemoteRpc(dev.rpcUrl), startRemoteRpc(dev.rpcUrl)])
  try {
    const from = (await clientOn(usual).head()).latest.number
    const stuck = await ask('eth_getBlockByNumber', ['latest', false])
    lagging.lie = (method, [which], result) => {
      if (method === 'eth_getBlockByNumber' && which === 'latest') return stuck
      return method === 'eth_getLogs' ? [] : result
    }
    const { key, hash } = await settle(usual, 14)
    await dev.client.waitForTransactionReceipt({ hash })
    // More than ten seconds of this network.
    await dev.mine(60)
    const network = { ...usual, rpcUrls: [lagging.url, good.url] }
    const leftOut: string[] = []
    const rpc = createRpcPool(network, undefined, { onLeftOut: (host) => leftOut.push(host) })
    await rpc.compare()
    expect(leftOut).toEqual([new URL(lagging.url).host])
    const scheme = createExactScheme(createChainClient({ rpc, network }), createSignatures({ rpc, network }))
    expect((await scheme.uses([key], from)).found).toMatchObject([{ key, txHash: hash }])
  } finally {
    await Promise.all([lagging.stop(), good.stop()])
  }
})
