import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { SELLER, signTransfer } from '../../../test/settlement/sign-transfer.ts'
import { type ChainClient, createChainClient } from '../../chain/chain-client.ts'
import type { Scheme } from '../../ports.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { type DevChain, startDevChain } from '../../testing/dev-chain.ts'
import type { SignedAuthorization } from './authorization.ts'
import { createExactScheme } from './create-exact-scheme.ts'
import { createSignatures } from './signatures.ts'
import { encodeTransfer } from './token-calls.ts'

const network = findNetwork('testnet')!
let dev: DevChain
let chain: ChainClient
let scheme: Scheme<SignedAuthorization>
let snapshot: Hex
beforeAll(async () => {
  dev = await startDevChain()
  chain = createChainClient({ rpcUrl: dev.rpcUrl, network })
  scheme = schemeOn(chain)
})
beforeEach(async () => {
  if (snapshot) await dev.revert(snapshot)
  snapshot = await dev.snapshot()
})
afterAll(() => dev.stop())

const schemeOn = (client: ChainClient) =>
  createExactScheme(client, createSignatures({ rpcUrl: dev.rpcUrl, network }))

const now = () => Math.floor(Date.now() / 1000)

test('every outcome is reported separately in one call, at the block that it ran on', async () => {
  const [good, poor, spender, blocked] = await Promise.all([
    dev.newBuyer({ micro: 1000n }),
    dev.newBuyer({ micro: 999n }),
    dev.newBuyer({ micro: 1500n }),
    dev.newBuyer({ micro: 1000n }),
  ])
  await dev.blacklist(blocked.address)
  const fine = await signTransfer(good)
  const auths = [
    fine,
    await signTransfer(poor),
    await signTransfer(spender),
    await signTransfer(spender),
    await signTransfer(blocked),
    await signTransfer(good, { validBefore: `${now() - 100}` }),
    await signTransfer(good, { validAfter: `${now() + 500}`, validBefore: `${now() + 900}` }),
    { ...fine, value: '999' },
    { ...fine, signature: '0x1234' as Hex },
    { ...fine, validAfter: '9'.repeat(78) },
  ]
  const { at, results } = await scheme.simulate(auths)
  expect(results).toEqual([
    { kind: 'ok', alone: false },
    { kind: 'fails', reason: 'insufficient_funds' },
    // Both together exceed the balance, so the second one fails.
    { kind: 'ok', alone: false },
    { kind: 'fails', reason: 'insufficient_funds' },
    { kind: 'fails', reason: 'blacklisted' },
    { kind: 'fails', reason: 'authorization_expired' },
    { kind: 'fails', reason: 'authorization_not_yet_valid' },
    { kind: 'fails', reason: 'authorization_used' },
    { kind: 'fails', reason: 'authorization_used' },
    { kind: 'fails', reason: 'malformed_authorization' },
  ])
  expect(at).toEqual((await chain.head()).latest)
  expect(await dev.balanceOf(SELLER)).toBe(0n)
})

test('a wrong signature and a paused token are distinguished', async () => {
  const buyer = await dev.newBuyer({ micro: 1000n })
  const auth = await signTransfer(buyer)
  const simulateOne = async (item: SignedAuthorization) => (await scheme.simulate([item])).results
  expect(await simulateOne({ ...auth, value: '999' })).toEqual([
    { kind: 'fails', reason: 'invalid_signature' },
  ])
  expect(await simulateOne({ ...auth, signature: '0x1234' })).toEqual([
    { kind: 'fails', reason: 'invalid_signature' },
  ])
  await dev.pauseToken()
  expect(await simulateOne(auth)).toEqual([{ kind: 'fails', reason: 'paused' }])
})

test('used means used on the chain, before our own simulated transfer', async () => {
  const buyer = await dev.newBuyer({ micro: 5000n })
  const [spent, fresh] = [await signTransfer(buyer), await signTransfer(buyer)]
  const hash = await dev.client.sendTransaction({
    account: dev.account(0).account,
    to: dev.usdc,
    data: encodeTransfer(spent),
  })
  await dev.client.waitForTransactionReceipt({ hash })
  const { results } = await scheme.simulate([spent, fresh])
  expect(results).toEqual([{ kind: 'used' }, { kind: 'ok', alone: false }])
})

test('payers with code are run alone, and one that burns all gas does not affect the others', async () => {
  const [owner, buyer] = [await dev.newBuyer(), await dev.newBuyer({ micro: 1000n })]
  const [honest, burner, refuser] = await Promise.all(
    [1, 2, 3].map(() => dev.deployWallet1271(owner.address)),
  )
  await Promise.all([honest!, burner!, refuser!].map(({ address }) => dev.mint(address, 1000n)))
  await burner!.setMode('burns-gas')
  await refuser!.setMode('refuses')
  const of = (wallet: { address: Address }) =>
    signTransfer(owner, { from: wallet.address.toLowerCase() as Address })
  const auths = [await of(burner!), await signTransfer(buyer), await of(honest!), await of(refuser!)]
  // A new client does not know which payers have code; the second time it does. Concurrent calls share what they
  // learn.
  const client = schemeOn(createChainClient({ rpcUrl: dev.rpcUrl, network }))
  for (const { results } of await Promise.all([client.simulate(auths), client.simulate(auths)])) {
    expect(results[0]).toMatchObject({ kind: 'fails' })
    expect(results.slice(1)).toEqual([
      { kind: 'ok', alone: false },
      { kind: 'ok', alone: true, gas: expect.any(Number) },
      { kind: 'fails', reason: 'invalid_signature' },
    ])
  }
  expect((await client.simulate(auths)).results.map(({ kind }) => kind)).toEqual([
    'fails',
    'ok',
    'ok',
    'fails',
  ])
})

test('more payments than one call holds are split, and none at all also work', async () => {
  const buyer = await dev.newBuyer({ micro: 1_000_000n })
  const one = await signTransfer(buyer)
  const many = Array.from({ length: 130 }, (_, index) => ({
    ...one,
    nonce: `0x${index.toString(16).padStart(64, '0')}` as Hex,
  }))
  const { results } = await scheme.simulate([...many, one])
  expect(results.at(-1)).toEqual({ kind: 'ok', alone: false })
  expect(
    results.slice(0, -1).every((result) => 'reason' in result && result.reason === 'invalid_signature'),
  ).toBe(true)
  expect((await scheme.simulate([])).results).toEqual([])
})

test('a chain without Multicall3 or token is reported as unavailable, not as a failing payment', async () => {
  const auth = await signTransfer(await dev.newBuyer({ micro: 1000n }))
  await dev.client.setCode({ address: '0xcA11bde05977b3631167028862bE2a173976CA11', bytecode: '0x' })
  await expect(scheme.simulate([auth])).rejects.toThrow('no Multicall3')
})
