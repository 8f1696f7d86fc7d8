import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shortDescription } from './short-description.ts'

const bytesOf = (text: string) => Buffer.byteLength(JSON.stringify(text)) - 2

test('what fits is kept as it is', () => {
  for (const text of ['', 'One hour', 'a'.repeat(320), '"'.repeat(160), '天'.repeat(106)])
    expect(shortDescription(text)).toBe(text)
})

test('what does not fit is cut between two characters', () => {
  expect(shortDescription('a'.repeat(321))).toBe(`${'a'.repeat(317)}...`)
  expect(shortDescription('天'.repeat(1024))).toBe(`${'天'.repeat(105)}...`)
  expect(shortDescription('😀'.repeat(512))).toBe(`${'😀'.repeat(79)}...`)
})

test('no text takes more than 320 bytes of JSON', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 1024, size: 'max' }), (text) => {
      const short = shortDescription(text)
      expect(bytesOf(short)).toBeLessThanOrEqual(320)
      if (bytesOf(text) <= 320) expect(short).toBe(text)
      else expect(text.startsWith(short.slice(0, -3))).toBe(true)
    }),
  )
})
