import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { UnavailableError } from '../errors.ts'
import type { SignedAuthorization } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import { findNetwork } from '../protocol/network.ts'
import { type DevAccount, type DevChain, startDevChain } from '../testing/dev-chain.ts'
import { signAuthorization } from '../testing/sign.ts'
import { usdcAbi } from '../testing/usdc-abi.ts'
import { createChainClient, submittedOf } from './chain-client.ts'
import { createTxSigner } from './tx-signer.ts'

const network = findNetwork('testnet')!
const SELLER: Address = '0x00000000000000000000000000000000000000aa'
const NEVER: Hex = `0x${'77'.repeat(32)}`
const fees = { maxFeePerGas: 5_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }

let dev: DevChain
let chain: ReturnType<typeof createChainClient>
let proxy: Server
/** Ranges that the proxy has let through; it refuses those longer than `maxRange`. */
const ranges: number[] = []
let maxRange = Number.POSITIVE_INFINITY

beforeAll(async () => {
  dev = await startDevChain()
  chain = createChainClient({ rpcUrl: dev.rpcUrl, network })
  proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString())
    if (body.method === 'eth_getLogs') {
      const range = Number(body.params[0].toBlock) - Number(body.params[0].fromBlock) + 1
      if (range > maxRange) {
        const error = { code: -32614, message: 'eth_getLogs is limited to a smaller range' }
        return response.end(JSON.stringify({ jsonrpc: '2.0', id: body.id, error }))
      }
      ranges.push(range)
    }
    const answer = await fetch(dev.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    response.end(await answer.text())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  proxy.closeAllConnections()
  proxy.close()
  await dev.stop()
})

const limitedChain = () =>
  createChainClient({ rpcUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, network })

async function authorize(buyer: DevAccount): Promise<SignedAuthorization> {
  const requirements = {
    scheme: 'exact',
    network: network.id,
    asset: network.asset,
    amount: '1000',
    payTo: SELLER,
    maxTimeoutSeconds: 900,
    extra: { ...network.domain },
  }
  const nowSeconds = (await chain.head()).latest.timestamp
  const { authorization, signature } = await signAuthorization({
    account: buyer.account,
    requirements,
    nowSeconds,
  })
  return { ...authorization, from: authorization.from.toLowerCase() as Address, signature }
}

const keyOf = ({ from, nonce }: SignedAuthorization) => ({ payer: from, nonce })

async function sendAs(index: number, calls: SignedAuthorization[]): Promise<Hex> {
  const signer = createTxSigner(dev.account(index).privateKey, network)
  const { nonce } = await chain.wallet(signer.address)
  const { raw, hash } = await signer.sign({ nonce, calls, gas: 3_000_000, ...fees })
  expect(await chain.submit(raw)).toBe('accepted')
  // anvil mines a moment after it has accepted.
  await expect.poll(() => chain.mined([hash]), { interval: 10, timeout: 10_000 }).toHaveLength(1)
  return hash
}

test('the domain and the head are the chain’s own', async () => {
  expect(await chain.domain()).toEqual({ chainId: 84532, name: 'USDC', version: '2' })
  await dev.mine(5)
  const { latest, finalized } = await chain.head()
  expect(latest.number).toBe(Number(await dev.client.getBlockNumber({ cacheTime: 0 })))
  expect(finalized.number).toBeLessThan(latest.number)
  expect(finalized.hash).toMatch(/^0x[0-9a-f]{64}$/)
})

test('several uses in one transaction, a cancel and an unused one are told apart', async () => {
  const from = (await chain.head()).latest.number
  const buyers = await Promise.all([1, 2, 3, 4].map(() => dev.newBuyer({ micro: 1000n })))
  const auths = await Promise.all(buyers.map(authorize))
  const [first, second, poor, canceled] = auths as [
    SignedAuthorization,
    SignedAuthorization,
    SignedAuthorization,
    SignedAuthorization,
  ]
  // A member that reverts harms nobody: it only has no logs.
  const hash = await sendAs(0, [first, { ...poor, value: '1' }, second])
  const signature = await buyers[3]!.account.signTypedData({
    domain: { ...network.domain, chainId: network.chainId, verifyingContract: network.asset },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: canceled.from, nonce: canceled.nonce },
  })
  const cancelHash = await dev.client.writeContract({
    account: dev.account(1).account,
    address: dev.usdc,
    abi: usdcAbi,
    functionName: 'cancelAuthorization',
    args: [canceled.from, canceled.nonce, signature],
  })
  await dev.client.waitForTransactionReceipt({ hash: cancelHash })
  // The filters on payers and nonces are independent: this pair matches both, and is nobody's.
  const crossed = { payer: first.from, nonce: second.nonce }
  const { at, found } = await chain.uses([...auths.map(keyOf), crossed], from)
  expect(at).toEqual((await chain.head()).latest)
  expect(found).toHaveLength(3)
  const [one, two, three] = found
  expect(one).toMatchObject({
    kind: 'transfer',
    key: keyOf(first),
    txHash: hash,
    from: first.from,
    to: SELLER,
    value: '1000',
  })
  expect(two).toMatchObject({ kind: 'transfer', key: keyOf(second), txHash: hash, to: SELLER })
  expect(three).toMatchObject({ kind: 'canceled', key: keyOf(canceled) })
  const transfers = await dev.transfersTo(SELLER)
  expect(transfers.map(({ logIndex }) => logIndex)).toEqual(
    [one, two].map((use) => 'logIndex' in use! && use.logIndex),
  )
  expect((await chain.mined([hash, NEVER])).map((mined) => ({ ...mined, blockNumber: 0 }))).toEqual([
    { hash, success: true, blockNumber: 0 },
  ])
  // Nothing before the search began.
  expect((await chain.uses(auths.map(keyOf), at.number + 1)).found).toEqual([])
})

test('a range limit is met with smaller ranges, which are remembered', async () => {
  const from = (await chain.head()).latest.number
  const auth = await authorize(await dev.newBuyer({ micro: 1000n }))
  await sendAs(2, [auth])
  await dev.mine(40)
  const limited = limitedChain()
  maxRange = 7
  const { found } = await limited.uses([keyOf(auth)], from)
  expect(found).toMatchObject([{ kind: 'transfer', value: '1000' }])
  expect(Math.max(...ranges)).toBeLessThanOrEqual(7)
  const queries = ranges.length
  ranges.length = 0
  await limited.uses([keyOf(auth)], from)
  expect(ranges).toHaveLength(queries)
  maxRange = 0
  await expect(limited.uses([keyOf(auth)], from)).rejects.toThrow(UnavailableError)
})

test('more keys than one query takes are searched in several', async () => {
  const from = (await chain.head()).latest.number
  const auth = await authorize(await dev.newBuyer({ micro: 1000n }))
  await sendAs(3, [auth])
  const strangers = Array.from({ length: 150 }, (_, index) => ({
    payer: SELLER,
    nonce: `0x${index.toString(16).padStart(64, '0')}` as Hex,
  }))
  expect((await chain.uses([...strangers, keyOf(auth)], from)).found).toHaveLength(1)
})

test('a reorganisation takes the use away', async () => {
  const auth = await authorize(await dev.newBuyer({ micro: 1000n }))
  const from = (await chain.head()).latest.number
  const hash = await sendAs(4, [auth])
  expect((await chain.uses([keyOf(auth)], from)).found).toHaveLength(1)
  await dev.reorg(1)
  expect((await chain.uses([keyOf(auth)], from)).found).toEqual([])
  expect(await chain.mined([hash])).toEqual([])
})

test('what the node says of a transaction is classified', async () => {
  const signer = createTxSigner(dev.account(5).privateKey, network)
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
  expect(await chain.submit('0x02')).toBe('unknown')
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

test('a node that is gone is unavailable in every call', async () => {
  const gone = createChainClient({ rpcUrl: 'http://127.0.0.1:9', network, timeoutMs: 500 })
  const key = { payer: SELLER, nonce: NEVER }
  for (const call of [
    () => gone.head(),
    () => gone.simulate([]),
    () => gone.uses([key], 0),
    () => gone.mined([NEVER]),
    () => gone.submit('0x02'),
    () => gone.wallet(SELLER),
    () => gone.domain(),
  ]) {
    await expect(call()).rejects.toThrow(UnavailableError)
  }
})
