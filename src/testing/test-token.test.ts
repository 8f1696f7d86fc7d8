import { type Address, type Hex, parseSignature, serializeSignature } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type DevAccount, type DevChain, startDevChain } from './dev-chain.ts'
import { MULTICALL3_ADDRESS } from './dev-client.ts'
import { type SignedAuthorization, signAuthorization } from './sign.ts'
import { deployTestWallet } from './test-wallet.ts'
import { usdcAbi } from './usdc-abi.ts'

const SELLER: Address = '0x00000000000000000000000000000000000000AA'
const PRICE = 1_000_000n
// The order of secp256k1, to make the malleable form of a signature.
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

let chain: DevChain
let buyer: DevAccount
beforeAll(async () => {
  chain = await startDevChain()
})
afterAll(() => chain.stop())
beforeEach(async () => {
  buyer = await chain.newBuyer({ micro: 10n * PRICE })
})

const requirements = () => ({
  scheme: 'exact',
  network: chain.network,
  asset: chain.usdc,
  amount: PRICE.toString(),
  payTo: SELLER,
  maxTimeoutSeconds: 900,
  extra: { name: 'USDC', version: '2' },
})

type Overrides = Parameters<typeof signAuthorization>[0]['overrides']
const sign = (overrides: Overrides = {}, account = buyer.account) =>
  signAuthorization({ account, requirements: requirements(), overrides })

const base = ({ authorization: a }: SignedAuthorization) =>
  [a.from, a.to, BigInt(a.value), BigInt(a.validAfter), BigInt(a.validBefore), a.nonce] as const

type Call = Parameters<typeof submit>[0]
// Simulates first: a revert then carries its reason.
async function submit(call: { functionName: string; args: readonly unknown[]; account?: DevAccount }) {
  const { request } = await chain.client.simulateContract({
    address: chain.usdc,
    abi: usdcAbi as never,
    functionName: call.functionName,
    args: call.args,
    account: (call.account ?? chain.account(0)).account,
  })
  const hash = await chain.client.writeContract(request as never)
  return chain.client.waitForTransactionReceipt({ hash })
}

const byBytes = (signed: SignedAuthorization, functionName = 'transferWithAuthorization'): Call => ({
  functionName,
  args: [...base(signed), signed.signature],
})
const byParts = (signed: SignedAuthorization): Call => {
  const { r, s, v } = parseSignature(signed.signature)
  return { functionName: 'transferWithAuthorization', args: [...base(signed), Number(v), r, s] }
}
const used = (signed: SignedAuthorization) =>
  chain.client.readContract({
    address: chain.usdc,
    abi: usdcAbi,
    functionName: 'authorizationState',
    args: [signed.authorization.from, signed.authorization.nonce],
  })

describe('transferWithAuthorization', () => {
  test.each([
    ['bytes', byBytes],
    ['v, r, s', byParts],
  ])('by %s moves the money and logs AuthorizationUsed right before Transfer', async (_, call) => {
    const signed = await sign()
    const before = await chain.balanceOf(SELLER)
    const receipt = await submit(call(signed))
    expect((await chain.balanceOf(SELLER)) - before).toBe(PRICE)
    expect(await chain.balanceOf(buyer.address)).toBe(9n * PRICE)
    expect(await used(signed)).toBe(true)

    const logs = await chain.client.getContractEvents({
      address: chain.usdc,
      abi: usdcAbi,
      fromBlock: receipt.blockNumber,
      strict: true,
    })
    expect(logs.map(({ eventName }) => eventName)).toEqual(['AuthorizationUsed', 'Transfer'])
    expect(logs[1]!.logIndex).toBe(logs[0]!.logIndex + 1)
    expect(logs[0]!.args).toEqual({ authorizer: buyer.address, nonce: signed.authorization.nonce })
    expect(logs[1]!.args).toEqual({ from: buyer.address, to: SELLER, value: PRICE })
  })

  test('reverts when sent again', async () => {
    const signed = await sign()
    await submit(byBytes(signed))
    await expect(submit(byBytes(signed))).rejects.toThrow('FiatTokenV2: authorization is used or canceled')
  })

  test('reverts before validAfter and from validBefore on', async () => {
    const now = (await chain.client.getBlock()).timestamp
    await expect(submit(byBytes(await sign({ validAfter: `${now + 1_000n}` })))).rejects.toThrow(
      'FiatTokenV2: authorization is not yet valid',
    )
    await expect(submit(byBytes(await sign({ validBefore: `${now}` })))).rejects.toThrow(
      'FiatTokenV2: authorization is expired',
    )
  })

  test('reverts when the balance is too small', async () => {
    await expect(submit(byBytes(await sign({ value: `${10n * PRICE + 1n}` })))).rejects.toThrow(
      'ERC20: transfer amount exceeds balance',
    )
  })

  test('reverts for a tampered value, a foreign signer and a foreign domain', async () => {
    const signed = await sign()
    const tampered = { ...signed, authorization: { ...signed.authorization, value: '1' } }
    const foreign = await sign({ from: buyer.address }, chain.account(3).account)
    const otherChain = await sign({ domain: { chainId: 8453 } })
    for (const wrong of [tampered, foreign, otherChain]) {
      await expect(submit(byBytes(wrong))).rejects.toThrow('FiatTokenV2: invalid signature')
    }
  })

  test('reverts for a malleable, a short and a wrongly marked signature', async () => {
    const signed = await sign()
    const { r, s, yParity } = parseSignature(signed.signature)
    const high: Hex = `0x${(ORDER - BigInt(s)).toString(16).padStart(64, '0')}`
    const twin = serializeSignature({ r, s: high, yParity: yParity === 0 ? 1 : 0 })
    await expect(submit(byBytes({ ...signed, signature: twin }))).rejects.toThrow(
      "ECRecover: invalid signature 's' value",
    )
    await expect(
      submit(byBytes({ ...signed, signature: signed.signature.slice(0, -2) as Hex })),
    ).rejects.toThrow('ECRecover: invalid signature length')
    const marked = `${signed.signature.slice(0, -2)}00` as Hex
    await expect(submit(byBytes({ ...signed, signature: marked }))).rejects.toThrow(
      "ECRecover: invalid signature 'v' value",
    )
  })
})

test('receiveWithAuthorization can be called by the payee only', async () => {
  const payee = chain.account(4)
  const message = { ...(await sign({ to: payee.address })).authorization }
  const signature = await buyer.account.signTypedData({
    domain: { name: 'USDC', version: '2', chainId: chain.chainId, verifyingContract: chain.usdc },
    types: {
      ReceiveWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'ReceiveWithAuthorization',
    message: {
      ...message,
      value: BigInt(message.value),
      validAfter: BigInt(message.validAfter),
      validBefore: BigInt(message.validBefore),
    },
  })
  const call = byBytes({ authorization: message, signature }, 'receiveWithAuthorization')
  await expect(submit(call)).rejects.toThrow('FiatTokenV2: caller must be the payee')
  await submit({ ...call, account: payee })
  expect(await chain.balanceOf(payee.address)).toBe(PRICE)
})

test('a cancelled authorization never pays, and leaves its event', async () => {
  const signed = await sign()
  const signature = await buyer.account.signTypedData({
    domain: { name: 'USDC', version: '2', chainId: chain.chainId, verifyingContract: chain.usdc },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: buyer.address, nonce: signed.authorization.nonce },
  })
  const { r, s, v } = parseSignature(signature)
  const { nonce } = signed.authorization
  const receipt = await submit({
    functionName: 'cancelAuthorization',
    args: [buyer.address, nonce, Number(v), r, s],
  })
  const [log] = await chain.client.getContractEvents({
    address: chain.usdc,
    abi: usdcAbi,
    eventName: 'AuthorizationCanceled',
    fromBlock: receipt.blockNumber,
  })
  expect(log!.args).toEqual({ authorizer: buyer.address, nonce })
  await expect(submit(byBytes(signed))).rejects.toThrow('FiatTokenV2: authorization is used or canceled')
  await expect(
    submit({ functionName: 'cancelAuthorization', args: [buyer.address, nonce, signature] }),
  ).rejects.toThrow('FiatTokenV2: authorization is used or canceled')
})

test('pause and blacklist stop payments until they are lifted', async () => {
  const signed = await sign()
  await chain.pauseToken()
  await expect(submit(byBytes(signed))).rejects.toThrow('Pausable: paused')
  await chain.unpauseToken()
  for (const account of [buyer.address, SELLER]) {
    await chain.blacklist(account)
    await expect(submit(byBytes(signed))).rejects.toThrow('Blacklistable: account is blacklisted')
    await chain.unblacklist(account)
  }
  await submit(byBytes(signed))
})

test('a pause also stops a payment in the mempool', async () => {
  const signed = await sign()
  await chain.setAutomine(false)
  const hash = await chain.client.writeContract({
    address: chain.usdc,
    abi: usdcAbi,
    functionName: 'transferWithAuthorization',
    args: [...base(signed), signed.signature],
    account: chain.account(0).account,
    gas: 200_000n,
  })
  await chain.pauseToken()
  await chain.mine()
  await chain.setAutomine(true)
  await chain.unpauseToken()
  expect((await chain.client.getTransactionReceipt({ hash })).status).toBe('reverted')
  expect(await used(signed)).toBe(false)
})

describe('a wallet with code (EIP-1271)', () => {
  test('pays by its owner’s signature, and not while it refuses', async () => {
    const wallet = await chain.deployWallet1271(buyer.address)
    await chain.mint(wallet.address, 2n * PRICE)
    await submit(byBytes(await sign({ from: wallet.address })))
    const signed = await sign({ from: wallet.address })
    await wallet.setMode('refuses')
    await expect(submit(byBytes(signed))).rejects.toThrow('FiatTokenV2: invalid signature')
    await wallet.setMode('honest')
    await submit(byParts(signed))
    expect(await chain.balanceOf(wallet.address)).toBe(0n)
  })

  test('can accept in the simulation and refuse in the transaction', async () => {
    const wallet = await deployTestWallet(chain.client, buyer.address)
    await wallet.setMode('refuses-on-chain')
    await chain.mint(wallet.address, PRICE)
    const call = { address: chain.usdc, abi: usdcAbi, functionName: 'transferWithAuthorization' } as const
    const signed = await sign({ from: wallet.address })
    const args = [...base(signed), signed.signature] as const
    await chain.client.simulateContract({ ...call, args })
    const account = chain.account(0).account
    const hash = await chain.client.writeContract({ ...call, args, account, gas: 200_000n })
    expect((await chain.client.waitForTransactionReceipt({ hash })).status).toBe('reverted')
    expect(await chain.balanceOf(wallet.address)).toBe(PRICE)
  })

  test('can burn nearly all the gas that a batch gives it', async () => {
    const wallet = await chain.deployWallet1271(buyer.address)
    await wallet.setMode('burns-gas')
    await chain.mint(wallet.address, PRICE)
    const signed = await sign({ from: wallet.address })
    const hash = await chain.client.writeContract({
      address: chain.usdc,
      abi: usdcAbi,
      functionName: 'transferWithAuthorization',
      args: [...base(signed), signed.signature],
      account: chain.account(0).account,
      gas: 3_000_000n,
    })
    const receipt = await chain.client.waitForTransactionReceipt({ hash })
    expect(receipt.status).toBe('reverted')
    expect(receipt.gasUsed).toBeGreaterThan(2_900_000n)
  })
})

test('Multicall3 settles good authorizations beside a bad one', async () => {
  const [good, alsoGood] = [await sign(), await sign()]
  const calls = [good, good, alsoGood].map((signed) => ({
    address: chain.usdc,
    abi: usdcAbi,
    functionName: 'transferWithAuthorization' as const,
    args: [...base(signed), signed.signature] as const,
  }))
  const results = await chain.client.multicall({ contracts: calls, multicallAddress: MULTICALL3_ADDRESS })
  expect(results.map(({ status }) => status)).toEqual(['success', 'failure', 'success'])
  expect(String(results[1]!.error)).toContain('authorization is used or canceled')
})
