import { encodeAbiParameters, type Hex } from 'viem'
import { expect, test } from 'vitest'
import { isWrapped, unwrap } from './eip6492.ts'

const FACTORY: Hex = `0x${'ab'.repeat(20)}`
const MAGIC = '6492'.repeat(16)

function wrap(deploy: Hex, signature: Hex): Hex {
  const shape = [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }] as const
  return `${encodeAbiParameters(shape, [FACTORY, deploy, signature])}${MAGIC}`
}

test.each<[Hex, Hex]>([
  ['0x', `0x${'11'.repeat(65)}`],
  ['0xdeadbeef', `0x${'22'.repeat(65)}`],
  [`0x${'33'.repeat(100)}`, `0x${'44'.repeat(64)}`],
])('a wrapped signature is decoded into its parts: %s', (deploy, signature) => {
  const wrapped = wrap(deploy, signature)
  expect(isWrapped(wrapped)).toBe(true)
  expect(unwrap(wrapped)).toEqual({ factory: FACTORY, deploy, signature })
})

test('other data with the same ending is not a wrapper', () => {
  const good = wrap('0xdeadbeef', `0x${'22'.repeat(65)}`).slice(2, -MAGIC.length)
  const word = (at: number, text: string): Hex =>
    `0x${good.slice(0, at * 64)}${text}${good.slice(at * 64 + 64)}${MAGIC}`
  for (const wrapped of [
    `0x${MAGIC}`,
    `0x${'ab'.repeat(40)}${MAGIC}`,
    `0x${good.slice(0, -64)}${MAGIC}`,
    word(0, 'f'.repeat(64)),
    word(1, 'f'.repeat(64)),
    word(2, '7'.padStart(64, '0')),
    word(3, 'f'.repeat(8).padStart(64, '0')),
  ] as Hex[]) {
    expect(unwrap(wrapped), wrapped).toBeUndefined()
  }
  expect(unwrap(`0x${'11'.repeat(65)}`)).toBeUndefined()
})
