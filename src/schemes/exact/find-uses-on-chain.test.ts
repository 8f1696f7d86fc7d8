import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ChainClient, createChainClient } from '../../chain/chain-client.ts'
import { UnavailableError } from '../../errors.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { type DevAccount, type DevChain, startDevChain } from '../../testing/dev-chain.ts'
import { signAuthorization } from '../../testing/sign.ts'
import { usdcAbi } from '../../testing/usdc-abi.ts'
import { createWalletSigner } from '../wallet-signer.ts'
import { authorizationKey, type SignedAuthorization } from './authorization.ts'
import { createUseSearch } from './find-uses.ts'

const network = findNetwork('testnet')!
const SELLER: Address = '0x00000000000000000000000000000000000000aa'
const NEVER: Hex = `0x${'77'.repeat(32)}`
const fees = { maxFeePerGas: 5_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }

let dev: DevChain
let chain: ChainClient
let search: ReturnType<typeof createUseSearch>
let proxy: Server
/** The ranges that the proxy let through; it refuses ranges longer than `maxRange`. */
const ranges: number[] = []
let maxRange = Number.POSITIVE_INFINITY

beforeAll(async () => {
  dev = await startDevChain()
  chain = createChainClient({ rpcUrl: dev.rpcUrl, network })
  search = createUseSearch(chain)
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
    asset: network.token.address,
    amount: '1000',
    payTo: SELLER,
    maxTimeoutSeconds: 900,
    extra: { ...network.token.domain },
  }
  const nowSeconds = (await chain.head()).latest.timestamp
  const { authorization, signature } = await signAuthorization({
    account: buyer.account,
    requirements,
    nowSeconds,
  })
  return { ...authorization, from: authorization.from.toLowerCase() as Address, signature }
}

const keyOf = ({ from, nonce }: SignedAuthorization) => authorizationKey(network, from, nonce)

async function sendAs(index: number, calls: SignedAuthorization[]): Promise<Hex> {
  const signer = createWalletSigner(dev.account(index).privateKey, network)
  const { nonce } = await chain.wallet(signer.address)
  const { raw, hash } = await signer.sign({ nonce, calls, gas: 3_000_000, ...fees })
  expect(await chain.submit(raw)).toBe('accepted')
  // anvil mines a moment after it has accepted.
  await expect.poll(() => chain.mined([hash]), { interval: 10, timeout: 60_000 }).toHaveLength(1)
  return hash
}

test('several uses in one transaction, a cancellation and an unused authorization are distinguished', async () => {
  const from = (await chain.head()).latest.number
  const buyers = await Promise.all([1, 2, 3, 4].map(() => dev.newBuyer({ micro: 1000n })))
  const auths = await Promise.all(buyers.map(authorize))
  const [first, second, poor, canceled] = auths as [
    SignedAuthorization,
    SignedAuthorization,
    SignedAuthorization,
    SignedAuthorization,
  ]
  // A member that reverts does not affect the others; it only has no logs.
  const hash = await sendAs(0, [first, { ...poor, value: '1' }, second])
  const signature = await buyers[3]!.account.signTypedData({
    domain: { ...network.token.domain, chainId: network.chainId, verifyingContract: network.token.address },
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
  // The filters on payers and nonces are independent: this pair matches both but belongs to no authorization.
  const crossed = authorizationKey(network, first.from, second.nonce)
  const { at, found } = await search.uses([...auths.map(keyOf), crossed], from)
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
  // Uses below the start of the search are not found.
  expect((await search.uses(auths.map(keyOf), at.number + 1)).found).toEqual([])
})

test('smaller ranges are used for a node with a range limit, and remembered', async () => {
  const from = (await chain.head()).latest.number
  const auth = await authorize(await dev.newBuyer({ micro: 1000n }))
  await sendAs(2, [auth])
  await dev.mine(40)
  const limited = createUseSearch(limitedChain())
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
  const strangers = Array.from({ length: 150 }, (_, index) =>
    authorizationKey(network, SELLER, `0x${index.toString(16).padStart(64, '0')}`),
  )
  expect((await search.uses([...strangers, keyOf(auth)], from)).found).toHaveLength(1)
})

test('a use that a reorganisation removed is no longer found', async () => {
  const auth = await authorize(await dev.newBuyer({ micro: 1000n }))
  const from = (await chain.head()).latest.number
  const hash = await sendAs(4, [auth])
  expect((await search.uses([keyOf(auth)], from)).found).toHaveLength(1)
  await dev.reorg(1)
  expect((await search.uses([keyOf(auth)], from)).found).toEqual([])
  expect(await chain.mined([hash])).toEqual([])
})
