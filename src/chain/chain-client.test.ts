import { afterAll, beforeAll, expect, test } from 'vitest'
import { UnavailableError } from '../errors.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import { findNetwork } from '../protocol/networks.ts'
import { authorizationKey } from '../schemes/exact/authorization.ts'
import { createExactScheme } from '../schemes/exact/create-exact-scheme.ts'
import { createSignatures } from '../schemes/exact/signatures.ts'
import { createWalletSigner } from '../schemes/wallet-signer.ts'
import { type DevChain, startDevChain } from '../testing/dev-chain.ts'
import { type ChainClient, createChainClient } from './chain-client.ts'
import { submittedOf } from './submitted.ts'

const network = findNetwork('testnet')!
const SELLER: Address = '0x00000000000000000000000000000000000000aa'
const NEVER: Hex = `0x${'77'.repeat(32)}`

let dev: DevChain
let chain: ChainClient

beforeAll(async () => {
  dev = await startDevChain()
  chain = createChainClient({ rpcUrl: dev.rpcUrl, network })
})
afterAll(() => dev.stop())

test('domain and head are read from the chain', async () => {
  expect(await chain.domain()).toEqual({ chainId: 84532, name: 'USDC', version: '2', decimals: 6 })
  await dev.mine(5)
  const { latest, finalized } = await chain.head()
  expect(latest.number).toBe(Number(await dev.client.getBlockNumber({ cacheTime: 0 })))
  expect(finalized.number).toBeLessThan(latest.number)
  expect(finalized.hash).toMatch(/^0x[0-9a-f]{64}$/)
})

test('the answers of a node to a transaction are classified', async () => {
  const signer = createWalletSigner(dev.account(5).privateKey, network)
  const signed = (nonce: number, factor = 1n) =>
    signer.sign({
      nonce,
      calls: [],
      gas: 40_000,
      maxFeePerGas: 3_000_000_000n * factor,
      maxPriorityFeePerGas: 1_000_000_000n * factor,
    })
  await dev.setAutomine(false)
  const first = await signed(0, 2n)
  expect(await chain.submit(first.raw)).toBe('accepted')
  expect(await chain.submit(first.raw)).toBe('known')
  expect(await chain.submit((await signed(0)).raw)).toBe('underpriced')
  await dev.setAutomine(true)
  await dev.mine()
  expect(await chain.submit((await signed(0)).raw)).toBe('nonce-low')
  expect(await chain.submit('0x02')).toEqual({ refused: expect.stringMatching(/./) })
  expect(await chain.wallet(signer.address)).toMatchObject({ nonce: 1 })
})

test.each([
  ['ALREADY_EXISTS: already known', 'known'],
  ['AlreadyKnown', 'known'],
  ['nonce too low: next nonce 5, tx nonce 4', 'nonce-low'],
  ['OldNonce', 'nonce-low'],
  ['replacement transaction underpriced', 'underpriced'],
  ['transaction underpriced: gas tip cap 0', 'underpriced'],
  ['max fee per gas less than block base fee: address 0x', 'underpriced'],
  ['FeeTooLow, MaxFeePerGas too low', 'underpriced'],
  ['insufficient funds for gas * price + value', 'unknown'],
  ['internal error', 'unknown'],
])('%s is %s', (message, submitted) => {
  expect(submittedOf(message)).toBe(submitted)
})

test('every call to a node that is down is reported as unavailable', async () => {
  const gone = createChainClient({ rpcUrl: 'http://127.0.0.1:9', network, timeoutMs: 500 })
  const scheme = createExactScheme(gone, createSignatures({ rpcUrl: 'http://127.0.0.1:9', network }))
  const key = authorizationKey(network, SELLER, NEVER)
  for (const call of [
    () => gone.head(),
    () => scheme.simulate([]),
    () => scheme.uses([key], 0),
    () => scheme.usesIfMined([key], 0, [NEVER]),
    () => gone.mined([NEVER]),
    () => gone.submit('0x02'),
    () => gone.wallet(SELLER),
    () => gone.domain(),
  ]) {
    await expect(call()).rejects.toThrow(UnavailableError)
  }
})
