import { concat, keccak256, numberToHex, parseSignature, serializeSignature, stringToHex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SELLER, signTransfer } from '../../../test/settlement/sign-transfer.ts'
import { UnavailableError } from '../../errors.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { type DevAccount, type DevChain, startDevChain } from '../../testing/dev-chain.ts'
import { authorizationKey, type SignedAuthorization } from './authorization.ts'
import { refundNonce, refundNonceOf } from './refund-nonce.ts'
import { createRefundSigner } from './refund-signer.ts'
import { createSignatures } from './signatures.ts'

const network = findNetwork('testnet')!
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
let dev: DevChain
let buyer: DevAccount
beforeAll(async () => {
  dev = await startDevChain()
  buyer = dev.account(7)
})
afterAll(() => dev.stop())

const signatures = () => createSignatures({ rpcUrl: dev.rpcUrl, network })

test('a plain account is checked without asking the chain', async () => {
  const offline = createSignatures({ rpcUrl: 'http://127.0.0.1:9', network, timeoutMs: 300 })
  expect(await offline.check(await signTransfer(buyer))).toBe('eoa')
  // Whether the payer has code is not known, so nothing is decided.
  await expect(offline.check({ ...(await signTransfer(buyer)), value: '1' })).rejects.toThrow(
    UnavailableError,
  )
})

test('what the token would refuse is refused with a helpful message', async () => {
  const good = await signTransfer(buyer)
  const { r, s, yParity } = parseSignature(good.signature)
  const highS = `0x${(CURVE_ORDER - BigInt(s)).toString(16).padStart(64, '0')}` as Hex
  const cases: Array<[Partial<SignedAuthorization>, RegExp]> = [
    [{ value: '999' }, /is of 0x[0-9a-f]{40}, not of the payer/],
    [{ signature: good.signature.slice(0, -2) as Hex }, /has 65 bytes, this one 64/],
    [{ signature: `${good.signature.slice(0, -2)}0${yParity}` as Hex }, /v is [01]; it must be 27 or 28/],
    [{ signature: serializeSignature({ r, s: highS, yParity: 1 - yParity! }) }, /low-s/],
    [{ signature: `0x${'00'.repeat(64)}1b` }, /no point/],
    [{ signature: `0x${'ab'.repeat(40)}${'6492'.repeat(16)}` }, /EIP-6492/],
    [{ validAfter: '9'.repeat(78) }, /2\^256/],
  ]
  for (const [change, words] of cases) {
    expect(await signatures().check({ ...good, ...change })).toMatchObject({
      invalid: expect.stringMatching(words),
    })
  }
  const mainnet = await signTransfer(buyer, { domain: { name: 'USD Coin', chainId: 8453 } })
  expect(await signatures().check(mainnet)).toMatchObject({
    invalid: expect.stringContaining('EIP-712 domain'),
  })
})

test('a wallet with code is asked', async () => {
  const wallet = await dev.deployWallet1271(buyer.address)
  const auth = await signTransfer(buyer, { from: wallet.address.toLowerCase() as Address })
  expect(await signatures().check(auth)).toBe('contract')
  expect(await signatures().check({ ...auth, value: '1' })).toMatchObject({
    invalid: expect.stringContaining('EIP-1271'),
  })
  for (const mode of ['refuses', 'burns-gas'] as const) {
    await wallet.setMode(mode)
    expect(await signatures().check(auth)).toMatchObject({ invalid: expect.stringContaining('EIP-1271') })
  }
})

test('a refund is signed like any authorization, and only from the refund wallet', async () => {
  const signer = createRefundSigner(buyer.privateKey, network)
  const key = `84532:${network.token.address}:${SELLER}:0x${'12'.repeat(32)}`
  const refund = { receiptKey: key, recipient: SELLER, value: '1000' }
  const signed = (await signer.sign(refund, 1_000_000)) as SignedAuthorization
  expect(signed).toMatchObject({
    from: buyer.address.toLowerCase(),
    to: SELLER,
    value: '1000',
    validAfter: '0',
  })
  expect(signed.validBefore).toBe('1000900')
  expect(signed.nonce).toBe(refundNonceOf(key, network.token.address))
  expect(signer.keyOf(key)).toBe(authorizationKey(network, signer.address, signed.nonce))
  expect(await signatures().check(signed)).toBe('eoa')
})

test('the refund nonce depends on the payment alone', () => {
  const payment = {
    chainId: 84532,
    asset: network.token.address,
    payer: SELLER,
    authorizationNonce: `0x${'12'.repeat(32)}` as Hex,
  }
  const nonce = refundNonce(payment)
  const packed = [
    stringToHex('paystile:refund'),
    numberToHex(84532, { size: 32 }),
    payment.asset,
    payment.payer,
  ]
  expect(nonce).toBe(keccak256(concat([...packed, payment.authorizationNonce])))
  // This value must never change: earlier refunds are found, and second ones prevented, by it.
  expect(nonce).toBe('0x34e46b0f557973147f82c9c7d20a7e5be7efa3e538dc791d58293aa3e9c76110')
  expect(
    refundNonceOf(`84532:${network.token.address}:${SELLER}:0x${'12'.repeat(32)}`, network.token.address),
  ).toBe(nonce)
  expect(refundNonce({ ...payment, chainId: 8453 })).not.toBe(nonce)
  const plain = refundNonceOf(`84532:0x${'12'.repeat(32)}:plain-4`, network.token.address)
  expect(plain).not.toBe(refundNonceOf(`84532:0x${'12'.repeat(32)}:plain-5`, network.token.address))
  expect(() => refundNonceOf('84532', network.token.address)).toThrow()
})
