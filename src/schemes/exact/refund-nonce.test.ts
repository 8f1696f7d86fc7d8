import { concat, keccak256, numberToHex, stringToHex } from 'viem/utils'
import { expect, test } from 'vitest'
import type { Address, Hex } from '../../protocol/hex.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { permitKey } from '../upto/permit.ts'
import type { SignedAuthorization } from './authorization.ts'
import { refundNonceOf } from './refund-nonce.ts'
import { createRefundSigner } from './refund-signer.ts'

const network = findNetwork('base-sepolia')!
const asset = network.token.address
const payer = `0x${'ab'.repeat(20)}` as Address
const key = (nonce: string, chainId = network.chainId) => permitKey(chainId, payer, nonce)

test('the refund of a metered payment has a nonce that follows from its chain, token, payer and nonce', () => {
  const packed = [
    stringToHex('paystile:refund'),
    numberToHex(network.chainId, { size: 32 }),
    asset,
    stringToHex('permit2'),
    payer,
    numberToHex(7, { size: 32 }),
  ]
  const nonce = refundNonceOf(key('7'), asset)
  expect(nonce).toBe(keccak256(concat(packed)))
  // This value must never change: earlier refunds are found, and second ones prevented, by it.
  expect(nonce).toBe('0x3195c5ca677db219fe57ed4c2166dd611574b9ec7e839d0fd47bb04e75c91ed0')
  const same: Hex = `0x${'7'.padStart(64, '0')}`
  const others = [
    refundNonceOf(key('8'), asset),
    refundNonceOf(key('7', 8453), asset),
    refundNonceOf(key('7'), payer),
    refundNonceOf(`${network.chainId}:${asset}:${payer}:${same}`, asset),
  ]
  expect(new Set([nonce, ...others]).size).toBe(5)
  const largest = ((1n << 256n) - 1n).toString()
  expect(refundNonceOf(key(largest), asset)).toMatch(/^0x[0-9a-f]{64}$/)
})

test('the refund wallet signs the refund of a metered payment, under the key that it names', async () => {
  const signer = createRefundSigner(`0x${'11'.repeat(32)}`, network)
  const refund = { receiptKey: key('123456789'), recipient: payer, value: '1858' }
  const signed = (await signer.sign(refund, 1_000_000)) as SignedAuthorization
  expect(signed).toMatchObject({ from: signer.address, to: payer, value: '1858', validBefore: '1000900' })
  expect(signer.keyOf(refund.receiptKey)).toBe(
    `${network.chainId}:${asset}:${signer.address}:${signed.nonce}`,
  )
})
