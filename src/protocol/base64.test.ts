import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodedBytes, decodeJsonObject, encodeJson } from './base64.ts'

const objects = fc.dictionary(fc.string(), fc.jsonValue())

test('encoded JSON is decoded from base64 and base64url, padded or not', () => {
  fc.assert(
    fc.property(objects, (value) => {
      const expected = JSON.parse(JSON.stringify(value))
      const standard = encodeJson(value)
      const url = Buffer.from(standard, 'base64').toString('base64url')
      for (const text of [standard, standard.replace(/=+$/, ''), url]) {
        expect(decodeJsonObject(text)).toEqual(expected)
        expect(decodedBytes(text)).toBe(Buffer.from(standard, 'base64').length)
      }
    }),
  )
})

test('anything that is not one encoded JSON object is refused, and nothing throws', () => {
  for (const text of [
    '',
    '!!!',
    'bm90IGpzb24=',
    encodeJson([1]),
    encodeJson('x'),
    encodeJson(null),
    `${encodeJson({})} `,
  ]) {
    expect(decodeJsonObject(text)).toBeUndefined()
  }
  fc.assert(fc.property(fc.string(), (text) => void decodeJsonObject(text)))
})

test('bytes that are not UTF-8 are refused rather than replaced', () => {
  expect(
    decodeJsonObject(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString('base64')),
  ).toBeUndefined()
})
