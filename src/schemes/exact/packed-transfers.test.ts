import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodePacked } from '../../../test/settlement/decode-packed.ts'
import { MULTICALL3 } from '../../chain/multicall.ts'
import { SETTLER } from '../../chain/settler.ts'
import type { Hex } from '../../protocol/hex.ts'
import type { SignedAuthorization } from './authorization.ts'
import { encodeTransfers } from './encode-transfers.ts'
import { encodePacked, isPackable } from './packed-transfers.ts'
import { encodeTransfer } from './token-calls.ts'

const bytes = (length: number) =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .map((value): Hex => `0x${Buffer.from(value).toString('hex')}`)
const below = (end: bigint) => fc.bigInt({ min: 0n, max: end - 1n }).map(String)
const token: Hex = `0x${'70'.repeat(20)}`

const recipients = [`0x${'aa'.repeat(20)}`, `0x${'bb'.repeat(20)}`] as const
const packable: fc.Arbitrary<SignedAuthorization> = fc.record({
  from: bytes(20),
  to: fc.constantFrom(...recipients),
  value: below(1n << 96n),
  validAfter: below(1n << 40n),
  validBefore: below(1n << 40n),
  nonce: bytes(32),
  signature: bytes(65),
})
const byRecipient = (auths: readonly SignedAuthorization[]) =>
  [...new Set(auths.map(({ to }) => to))].flatMap((to) => auths.filter((auth) => auth.to === to))

test('what is packed is read back whole, those of one recipient together, in 139 bytes each', () => {
  fc.assert(
    fc.property(fc.array(packable, { minLength: 1, maxLength: 20 }), (auths) => {
      const data = encodePacked(token, auths)
      expect(decodePacked(data)).toEqual({ token, auths: byRecipient(auths) })
      const groups = new Set(auths.map(({ to }) => to)).size
      expect(data.length).toBe(2 + 2 * (20 + 22 * groups + 139 * auths.length))
    }),
  )
})

test('calldata that is cut short, or has more behind it, is not read', () => {
  fc.assert(
    fc.property(fc.array(packable, { minLength: 1, maxLength: 4 }), fc.nat(), (auths, at) => {
      const data = encodePacked(token, auths)
      const whole = (data.length - 2) / 2
      const cut = data.slice(0, 2 + 2 * (at % whole)) as Hex
      const read = decodePacked(cut)
      // Only between two groups a shorter text is one as well.
      if (read) expect(encodePacked(token, read.auths)).toBe(cut)
      expect(decodePacked(`${data}00`)).toBeUndefined()
      expect(decodePacked(`${data}${'00'.repeat(22)}`)).toBeUndefined()
    }),
  )
})

const auth: SignedAuthorization = {
  from: `0x${'11'.repeat(20)}`,
  to: recipients[0],
  value: '10000',
  validAfter: '0',
  validBefore: '1900000000',
  nonce: `0x${'22'.repeat(32)}`,
  signature: `0x${'33'.repeat(64)}1b`,
}

test('a batch goes to the settler, a lone payment straight to the token', () => {
  expect(encodeTransfers(token, [auth, auth], 'settler')).toEqual({
    to: SETTLER,
    data: encodePacked(token, [auth, auth]),
  })
  expect(encodeTransfers(token, [auth], 'settler')).toEqual({ to: token, data: encodeTransfer(auth) })
  expect(encodeTransfers(token, [auth, auth]).to).toBe(MULTICALL3)
})

test.each([
  ['a signature that is no account’s', { signature: `0x${'33'.repeat(66)}` }],
  ['a value above 12 bytes', { value: String(1n << 96n) }],
  ['validAfter above 5 bytes', { validAfter: String(1n << 40n) }],
  ['validBefore above 5 bytes', { validBefore: String((1n << 256n) - 1n) }],
] as const)('%s does not fit: the batch goes to Multicall3', (_, odd) => {
  const misfit = { ...auth, ...odd }
  expect(isPackable(misfit)).toBe(false)
  expect(() => encodePacked(token, [auth, misfit])).toThrow(RangeError)
  expect(encodeTransfers(token, [auth, misfit], 'settler')).toEqual(encodeTransfers(token, [auth, misfit]))
})
