import fc from 'fast-check'
import {
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerializedLegacy,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import type { Hex } from '../protocol/hex.ts'
import { NETWORKS } from '../protocol/networks.ts'
import type { SignedAuthorization } from '../schemes/exact/authorization.ts'
import { createWalletSigner } from '../schemes/wallet-signer.ts'

const hex = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((all) => `0x${Buffer.from(all).toString('hex')}` as Hex)
const wei = fc.bigInt(0n, 2n ** 70n)
const call: fc.Arbitrary<SignedAuthorization> = fc.record({
  from: hex(20),
  to: hex(20),
  value: fc.bigInt(0n, 2n ** 64n).map(String),
  validAfter: fc.constant('0'),
  validBefore: fc.nat().map(String),
  nonce: hex(32),
  signature: fc.oneof(hex(65), hex(200)),
})
const transaction = fc
  .record({
    nonce: fc.oneof(fc.nat(), fc.constantFrom(0, 127, 128, 255, 256)),
    calls: fc.oneof(fc.array(call, { maxLength: 3 }), fc.array(call, { minLength: 50, maxLength: 50 })),
    tip: wei,
    base: wei,
    gas: fc.integer({ min: 21_000, max: 15_000_000 }),
  })
  .map(({ tip, base, ...rest }) => ({ ...rest, maxPriorityFeePerGas: tip, maxFeePerGas: tip + base }))

test('signed transactions are byte for byte the same as with viem', async () => {
  await fc.assert(
    fc.asyncProperty(transaction, fc.constantFrom(...NETWORKS), async (tx, network) => {
      const key = generatePrivateKey()
      const { raw, hash } = await createWalletSigner(key, network).sign(tx)
      const { r: _r, s: _s, v: _v, yParity: _y, ...fields } = parseTransaction(raw)
      const ofViem = await privateKeyToAccount(key).signTransaction(fields)
      expect({ raw, hash }).toEqual({ raw: ofViem, hash: keccak256(ofViem) })
    }),
    { numRuns: 200 },
  )
})

test('on a chain without EIP-1559 transactions are of the first kind, with the chain id in v, as with viem', async () => {
  await fc.assert(
    fc.asyncProperty(transaction, fc.constantFrom(...NETWORKS), async (tx, network) => {
      const key = generatePrivateKey()
      const signer = createWalletSigner(key, { ...network, fees: { ...network.fees, legacy: true } })
      const { raw, hash } = await signer.sign(tx)
      const { r: _r, s: _s, v: _v, yParity: _y, ...fields } = parseTransaction(raw)
      expect(fields).toMatchObject({ type: 'legacy', chainId: network.chainId })
      // A price of zero is left out by viem.
      expect(fields.gasPrice ?? 0n).toBe(tx.maxFeePerGas)
      const ofViem = await privateKeyToAccount(key).signTransaction(fields)
      expect({ raw, hash }).toEqual({ raw: ofViem, hash: keccak256(ofViem) })
      const sender = await recoverTransactionAddress({
        serializedTransaction: raw as TransactionSerializedLegacy,
      })
      expect(sender.toLowerCase()).toBe(signer.address)
    }),
    { numRuns: 50 },
  )
})

test('a signed transaction contains what was asked, and is from the gas wallet', async () => {
  const signer = createWalletSigner(generatePrivateKey(), NETWORKS[0]!)
  const fees = { maxFeePerGas: 2_000_000n, maxPriorityFeePerGas: 1_000_000n }
  const { raw, hash } = await signer.sign({ nonce: 7, calls: [], gas: 40_000, ...fees })
  expect(hash).toBe(keccak256(raw))
  expect(parseTransaction(raw)).toMatchObject({
    nonce: 7,
    to: signer.address,
    gas: 40_000n,
    ...fees,
    chainId: 8453,
  })
  const sender = await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })
  expect(sender.toLowerCase()).toBe(signer.address)
})
