import { HTTPFacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type DevAccount, type DevChain, startDevChain } from './dev-chain.ts'
import { startFacilitator, type TestFacilitator } from './facilitator.ts'
import type { Fault } from './facilitator-faults.ts'
import { paymentPayload, signAuthorization } from './sign.ts'

const SELLER: Address = '0x00000000000000000000000000000000000000AA'
const PRICE = 1_000_000n

let chain: DevChain
let facilitator: TestFacilitator
let client: HTTPFacilitatorClient
beforeAll(async () => {
  chain = await startDevChain()
  facilitator = await startFacilitator({ chain })
  client = new HTTPFacilitatorClient({ url: facilitator.url })
})
afterEach(() => facilitator.faults.clear())
afterAll(async () => {
  await facilitator.stop()
  await chain.stop()
})

const requirements = (): PaymentRequirements => ({
  scheme: 'exact',
  network: chain.network,
  asset: chain.usdc,
  amount: PRICE.toString(),
  payTo: SELLER,
  maxTimeoutSeconds: 900,
  extra: { name: 'USDC', version: '2' },
})

async function payment(buyer: DevAccount, from?: Address): Promise<PaymentPayload> {
  const signed = await signAuthorization({
    account: buyer.account,
    requirements: requirements(),
    overrides: from ? { from } : {},
  })
  return paymentPayload({ accepted: requirements(), ...signed }) as unknown as PaymentPayload
}

const newPayment = async () => payment(await chain.newBuyer({ micro: PRICE }))

const post = (operation: 'verify' | 'settle', body: PaymentPayload, signal?: AbortSignal) =>
  fetch(`${facilitator.url}/${operation}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ x402Version: 2, paymentPayload: body, paymentRequirements: requirements() }),
    ...(signal && { signal }),
  })

test('the official client learns what is supported, verifies and settles', async () => {
  const supported = await client.getSupported()
  expect(supported.kinds).toMatchObject([{ x402Version: 2, scheme: 'exact', network: 'eip155:84532' }])

  const body = await newPayment()
  const before = await chain.balanceOf(SELLER)
  expect(await client.verify(body, requirements())).toMatchObject({ isValid: true })
  expect(await chain.balanceOf(SELLER)).toBe(before)
  const settled = await client.settle(body, requirements())
  expect(settled).toMatchObject({ success: true, network: 'eip155:84532' })
  expect(await chain.balanceOf(SELLER)).toBe(before + PRICE)
  expect((await chain.transfersTo(SELLER)).at(-1)!.transactionHash).toBe(settled.transaction)
  expect(facilitator.calls).toEqual({ verify: 1, settle: 1, supported: 1 })

  // The official answers for payments that cannot be made.
  expect(await (await post('verify', body)).json()).toMatchObject({ isValid: false })
  expect(await (await post('settle', body)).json()).toMatchObject({ success: false, transaction: '' })
})

test('a wallet with code pays through the official facilitator', async () => {
  const owner = await chain.newBuyer()
  const wallet = await chain.deployWallet1271(owner.address)
  await chain.mint(wallet.address, PRICE)
  const body = await payment(owner, wallet.address)
  expect(await client.settle(body, requirements())).toMatchObject({ success: true })
  expect(await chain.balanceOf(wallet.address)).toBe(0n)
})

test.each([20, 100])('%i concurrent settlements all succeed', async (count) => {
  const payments = await Promise.all(Array.from({ length: count }, newPayment))
  const before = await chain.balanceOf(SELLER)
  const settled = await Promise.all(payments.map((body) => client.settle(body, requirements())))
  expect(settled.map(({ success }) => success)).toEqual(Array(count).fill(true))
  expect(new Set(settled.map(({ transaction }) => transaction)).size).toBe(count)
  expect((await chain.balanceOf(SELLER)) - before).toBe(BigInt(count) * PRICE)
})

test('a payment that reverts does not affect others at the same time', async () => {
  const [poor, ...others] = await Promise.all([
    payment(await chain.newBuyer({ micro: PRICE - 1n })),
    ...Array.from({ length: 10 }, newPayment),
  ])
  const settled = await Promise.all([poor!, ...others].map((body) => client.settle(body, requirements())))
  expect(settled.map(({ success }) => success)).toEqual([false, ...Array(10).fill(true)])
})

test('it settles again after the chain went back to a snapshot', async () => {
  const snapshot = await chain.snapshot()
  await client.settle(await newPayment(), requirements())
  await chain.revert(snapshot)
  expect(await client.settle(await newPayment(), requirements())).toMatchObject({ success: true })
})

test.each<[Fault, number]>([
  ['error-500', 500],
  ['refuse', 200],
  ['lie-success', 200],
  ['other-hash', 200],
  ['garbage', 200],
  ['html', 200],
])('%s answers %i and moves no money', async (fault, status) => {
  const body = await newPayment()
  const before = await chain.balanceOf(SELLER)
  const [calls, sent] = [facilitator.calls.settle, facilitator.broadcasts.length]
  facilitator.faults.next('settle', fault)
  const response = await post('settle', body)
  const text = await response.text()
  expect(response.status).toBe(status)
  if (fault === 'refuse') expect(JSON.parse(text)).toMatchObject({ success: false, transaction: '' })
  if (fault === 'garbage' || fault === 'html') expect(() => JSON.parse(text)).toThrow()
  if (fault === 'lie-success' || fault === 'other-hash') {
    const { success, transaction } = JSON.parse(text)
    expect(success).toBe(true)
    const receipt = await chain.client.getTransactionReceipt({ hash: transaction }).catch(() => undefined)
    expect(receipt?.status).toBe(fault === 'other-hash' ? 'success' : undefined)
  }
  expect(facilitator.calls.settle).toBe(calls + 1)
  expect(facilitator.broadcasts).toHaveLength(sent)
  expect(await chain.balanceOf(SELLER)).toBe(before)
  // The fault was for one call only.
  expect(await client.settle(body, requirements())).toMatchObject({ success: true })
})

test('broadcast-then-500 answers before the block is mined, and the money arrives with it', async () => {
  const body = await newPayment()
  const before = await chain.balanceOf(SELLER)
  facilitator.faults.next('settle', 'broadcast-then-500')
  await chain.setAutomine(false)
  expect((await post('settle', body)).status).toBe(500)
  expect(await chain.balanceOf(SELLER)).toBe(before)
  await chain.mine()
  await chain.setAutomine(true)
  expect(await chain.balanceOf(SELLER)).toBe(before + PRICE)
})

test.each<[Fault, bigint]>([
  ['hang', 0n],
  ['broadcast-then-hang', PRICE],
])('%s never answers', async (fault, moved) => {
  const body = await newPayment()
  const before = await chain.balanceOf(SELLER)
  const calls = facilitator.calls.settle
  facilitator.faults.next('settle', fault)
  const controller = new AbortController()
  const answer = post('settle', body, controller.signal).then(
    () => 'answered',
    () => 'aborted',
  )
  await expect.poll(() => facilitator.calls.settle, { interval: 5 }).toBe(calls + 1)
  await expect.poll(() => chain.balanceOf(SELLER), { interval: 5 }).toBe(before + moved)
  controller.abort()
  expect(await answer).toBe('aborted')
})

test.each<[Fault, bigint]>([
  ['disconnect', 0n],
  ['broadcast-then-disconnect', PRICE],
])('%s cuts the connection', async (fault, moved) => {
  const body = await newPayment()
  const before = await chain.balanceOf(SELLER)
  facilitator.faults.next('settle', fault)
  await expect(post('settle', body)).rejects.toThrow()
  await expect.poll(() => chain.balanceOf(SELLER), { interval: 5 }).toBe(before + moved)
})

test('late settles only after it is released', async () => {
  const body = await newPayment()
  const before = await chain.balanceOf(SELLER)
  const calls = facilitator.calls.settle
  facilitator.faults.next('settle', 'late')
  const answer = post('settle', body)
  await expect.poll(() => facilitator.calls.settle, { interval: 5 }).toBe(calls + 1)
  expect(await chain.balanceOf(SELLER)).toBe(before)
  facilitator.faults.release()
  expect(await (await answer).json()).toMatchObject({ success: true })
  expect(await chain.balanceOf(SELLER)).toBe(before + PRICE)
})

test('huge sends as many bytes as asked, also if the client leaves early', async () => {
  facilitator.faults.next('settle', 'huge', { bytes: 8 * 1024 * 1024 })
  const whole = await (await post('settle', await newPayment())).text()
  expect(whole.length).toBeGreaterThan(8 * 1024 * 1024)
  expect(JSON.parse(whole).success).toBe(true)

  facilitator.faults.next('settle', 'huge')
  const response = await post('settle', await newPayment())
  await response.body!.cancel()
  expect(await client.settle(await newPayment(), requirements())).toMatchObject({ success: true })
})

test('a permanent fault applies to every call until it is cleared, and stop ends calls that hang', async () => {
  const faulty = await startFacilitator({ chain, privateKey: chain.account(47).privateKey, fault: 'refuse' })
  const body = await newPayment()
  const settle = () => new HTTPFacilitatorClient({ url: faulty.url }).settle(body, requirements())
  for (let i = 0; i < 2; i++) expect(await settle()).toMatchObject({ success: false })
  faulty.faults.clear()
  expect(await settle()).toMatchObject({ success: true })
  faulty.faults.next('settle', 'hang')
  const hanging = settle().then(
    () => 'answered',
    () => 'failed',
  )
  await expect.poll(() => faulty.calls.settle, { interval: 5 }).toBe(4)
  await faulty.stop()
  expect(await hanging).toBe('failed')
})
