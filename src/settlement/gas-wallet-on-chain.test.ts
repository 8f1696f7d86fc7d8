import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { maintainDue } from '../../test/settlement/maintain-due.ts'
import { placeSettler } from '../../test/settlement/place-settler.ts'
import { SELLER, signTransfer } from '../../test/settlement/sign-transfer.ts'
import { type ChainClient, createChainClient } from '../chain/chain-client.ts'
import { MULTICALL3 } from '../chain/multicall.ts'
import { SETTLER } from '../chain/settler.ts'
import type { Scheme, Sendable, WalletTxRow } from '../ports.ts'
import { findNetwork } from '../protocol/networks.ts'
import { authorizationKey, type SignedAuthorization } from '../schemes/exact/authorization.ts'
import { createExactScheme } from '../schemes/exact/create-exact-scheme.ts'
import type { BatchContract } from '../schemes/exact/encode-transfers.ts'
import { createSignatures } from '../schemes/exact/signatures.ts'
import { createWalletSigner } from '../schemes/wallet-signer.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { type DevChain, startDevChain } from '../testing/dev-chain.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { walletTxKey } from './gas-lane.ts'
import { createGasWallet } from './gas-wallet.ts'

const network = findNetwork('testnet')!
let dev: DevChain
let chain: ChainClient
let scheme: Scheme<SignedAuthorization>
beforeAll(async () => {
  dev = await startDevChain()
  await placeSettler(dev)
  chain = createChainClient({ rpcUrl: dev.rpcUrl, network })
  scheme = createExactScheme(chain, createSignatures({ rpcUrl: dev.rpcUrl, network }))
})
afterAll(() => dev.stop())

/** A gas wallet of its own per test, over an empty store. */
function open(accountIndex: number, batchesBy: BatchContract) {
  const store = createMemoryStore()
  const clock = createFakeClock()
  const signer = createWalletSigner(dev.account(accountIndex).privateKey, network, batchesBy)
  const alerts = { raise: () => {} }
  const wallet = createGasWallet({
    chainId: network.chainId,
    chain,
    store,
    clock,
    alerts,
    signers: [signer],
    maxFeePerGasWei: 50_000_000_000n,
  })
  const rows = async () => {
    const keys = [0, 1, 2].map((nonce) => walletTxKey(network.chainId, signer.address, nonce))
    return (await store.get('walletTxs', keys)).filter((row): row is WalletTxRow => row !== undefined)
  }
  const maintain = () => maintainDue(wallet, store, clock)
  return { store, clock, wallet, maintain, rows, address: signer.address }
}

const keyOf = ({ from, nonce }: SignedAuthorization) => authorizationKey(network, from, nonce)

const itemOf = (signed: SignedAuthorization, alone = false): Sendable => ({
  member: { kind: 'payment', key: keyOf(signed) },
  signed,
  alone,
  batchLimit: null,
})

// anvil mines a moment after it has accepted.
const sellerHas = (micro: bigint) =>
  expect.poll(() => dev.balanceOf(SELLER), { interval: 10, timeout: 60_000 }).toBe(micro)

describe.each([
  { batchesBy: 'multicall3', contract: MULTICALL3, first: 10, atMost: 0.61 },
  { batchesBy: 'settler', contract: SETTLER, first: 20, atMost: 0.57 },
] as const)('batches by $batchesBy', ({ batchesBy, contract, first, atMost }) => {
  test('a batch pays everyone but the member that reverts, and a wallet with code goes alone', async () => {
    const { wallet, maintain, store, rows, clock } = open(first + 0, batchesBy)
    const buyers = await Promise.all([1, 2, 3].map(() => dev.newBuyer({ micro: 1000n })))
    const owner = await dev.newBuyer()
    const smart = await dev.deployWallet1271(owner.address)
    await dev.mint(smart.address, 1000n)
    const auths = await Promise.all(buyers.map((buyer) => signTransfer(buyer)))
    auths.push(await signTransfer(owner, { from: smart.address }))
    const before = await dev.balanceOf(SELLER)
    const looked = await scheme.simulate(auths)
    const from = looked.at.number
    expect(looked.results.map((result) => result.kind === 'ok' && result.alone)).toEqual([
      false,
      false,
      false,
      true,
    ])
    // Between look and send the second buyer can no longer pay.
    await dev.blacklist(buyers[1]!.address)
    const batches = await wallet.makeBatches(auths.map((auth, index) => itemOf(auth, index === 3)))
    expect(batches.map(({ keys }) => keys.length)).toEqual([1, 3])
    for (const batch of batches) {
      expect(await store.commit({ puts: batch.puts })).toEqual({ kind: 'applied' })
      expect(await batch.send()).toEqual({ kind: 'sent' })
    }
    await sellerHas(before + 3000n)
    const keys = auths.map(keyOf)
    // The balances of a new block are visible a moment before its logs.
    const found = async () => (await scheme.uses(keys, from)).found
    await expect.poll(found, { timeout: 60_000 }).toHaveLength(3)
    const sentTo = await Promise.all(
      (await rows()).map(async ({ hashes }) => (await dev.client.getTransaction({ hash: hashes[0]! })).to),
    )
    expect(sentTo.map((to) => to?.toLowerCase())).toEqual([network.token.address, contract])
    await clock.advance(12_000)
    await maintain()
    expect((await rows()).map(({ phase }) => phase)).toEqual(['MINED', 'MINED'])
  })

  test('100 in one transaction cost little more than half of 100 transactions, and fit the gas limit', async () => {
    const { wallet, store, rows } = open(first + 1, batchesBy)
    const buyers = await Promise.all(Array.from({ length: 101 }, () => dev.newBuyer({ micro: 1000n })))
    const auths = await Promise.all(buyers.map((buyer) => signTransfer(buyer)))
    const batches = await wallet.makeBatches(auths.map((auth) => itemOf(auth)))
    expect(batches.map(({ keys }) => keys.length)).toEqual([100, 1])
    const before = await dev.balanceOf(SELLER)
    for (const batch of batches) {
      await store.commit({ puts: batch.puts })
      await batch.send()
    }
    await sellerHas(before + 101_000n)
    const [batch, single] = await Promise.all(
      (await rows()).map(({ hashes }) => dev.client.getTransactionReceipt({ hash: hashes[0]! })),
    )
    expect(Number(batch!.gasUsed) / 100 / Number(single!.gasUsed)).toBeLessThan(atMost)
  })

  test('a transaction that was stored but never sent is sent, its fee follows the base fee, and it is mined once', async () => {
    const { wallet, maintain, store, rows, clock } = open(first + 2, batchesBy)
    const auth = await signTransfer(await dev.newBuyer({ micro: 1000n }))
    const [batch] = await wallet.makeBatches([itemOf(auth)])
    await store.commit({ puts: batch!.puts })
    const before = await dev.balanceOf(SELLER)
    await dev.setAutomine(false)
    await clock.advance(12_000)
    await maintain()
    expect((await rows())[0]!.hashes).toHaveLength(1)
    await dev.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 15_000_000_000n })
    await dev.mine()
    expect(await dev.balanceOf(SELLER)).toBe(before)
    await clock.advance(12_000)
    await maintain()
    expect((await rows())[0]!.hashes).toHaveLength(2)
    await dev.mine()
    await dev.setAutomine(true)
    await sellerHas(before + 1000n)
    await clock.advance(12_000)
    await maintain()
    expect(await rows()).toMatchObject([{ phase: 'MINED', nonce: 0 }])
  })

  test('a nonce gap is filled, and a nonce that was used elsewhere is given up', async () => {
    const { wallet, maintain, store, rows, clock, address } = open(first + 3, batchesBy)
    const auths = await Promise.all(
      [1, 2].map(async () => signTransfer(await dev.newBuyer({ micro: 1000n }))),
    )
    await wallet.makeBatches([itemOf(auths[0]!)])
    const [batch] = await wallet.makeBatches([itemOf(auths[1]!)])
    await store.commit({ puts: batch!.puts })
    const before = await dev.balanceOf(SELLER)
    await batch!.send()
    expect(await dev.balanceOf(SELLER)).toBe(before)
    await clock.advance(4_000)
    await maintain()
    await sellerHas(before + 1000n)
    expect((await rows()).map(({ nonce, calls }) => [nonce, calls.length])).toEqual([
      [0, 0],
      [1, 1],
    ])

    const [third] = await wallet.makeBatches([itemOf(auths[0]!)])
    await store.commit({ puts: third!.puts })
    const foreign = await dev.client.sendTransaction({
      account: dev.account(first + 3).account,
      to: address,
      value: 1n,
    })
    await dev.client.waitForTransactionReceipt({ hash: foreign })
    expect(await third!.send()).toEqual({ kind: 'unknown' })
    await clock.advance(12_000)
    await maintain()
    expect((await rows()).map(({ phase }) => phase)).toEqual(['MINED', 'MINED', 'REPLACED'])
  })
})
