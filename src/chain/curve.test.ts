import fc from 'fast-check'
import { sign } from 'viem/accounts'
import { bytesToHex, hexToBytes } from 'viem/utils'
import { expect, test } from 'vitest'
import { loadCurve } from './curve.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const curve = loadCurve()
const word = (value: bigint) => hexToBytes(`0x${value.toString(16).padStart(64, '0')}`)
const digests = fc.oneof(
  fc.uint8Array({ minLength: 32, maxLength: 32 }),
  fc.constantFrom(0n, 1n, ORDER - 1n, ORDER, ORDER + 1n, 2n ** 256n - 1n).map(word),
)
const keys = fc
  .oneof(fc.bigInt(1n, ORDER - 1n), fc.constantFrom(1n, 2n, ORDER / 2n, ORDER - 2n, ORDER - 1n))
  .map(word)

test('signatures are the same as with viem, and recover to their signer', async () => {
  const check = async (digest: Uint8Array, privateKey: Uint8Array) => {
    const { signature, recoveryId } = curve.sign(digest, privateKey)
    const expected = await sign({ hash: bytesToHex(digest), privateKey: bytesToHex(privateKey), to: 'bytes' })
    expect([...signature, 27 + recoveryId]).toEqual([...expected])
    const other = curve.sign(word(7n), privateKey)
    expect(curve.recover(digest, signature, recoveryId)).toEqual(
      curve.recover(word(7n), other.signature, other.recoveryId),
    )
  }
  await fc.assert(fc.asyncProperty(digests, keys, check), { numRuns: 300 })
})

test('numbers that are no private key do not sign', () => {
  for (const none of [0n, ORDER, ORDER + 1n, 2n ** 256n - 1n])
    expect(() => curve.sign(word(1n), word(none))).toThrow('not a number from 1 to below the curve order')
})

test('bytes of another length are refused, and nothing is read beyond them', () => {
  const digest = word(1n)
  expect(() => curve.sign(digest.subarray(1), digest)).toThrow('31 bytes where the curve needs 32')
  expect(() => curve.sign(digest, new Uint8Array(33))).toThrow('33 bytes where the curve needs 32')
  expect(() => curve.recover(digest, new Uint8Array(65), 0)).toThrow('65 bytes where the curve needs 64')
})
