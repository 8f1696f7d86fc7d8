import { expect, test } from 'vitest'
import { validityFault } from './validity.ts'

const authorization = {
  from: '0x2222222222222222222222222222222222222222',
  to: '0x1111111111111111111111111111111111111111',
  value: '1000000',
  nonce: `0x${'ab'.repeat(32)}`,
} as const
const at = (validAfter: string, validBefore: string) =>
  validityFault({ ...authorization, validAfter, validBefore }, 1000)

test('10 to 3600 seconds ahead of chain time is good', () => {
  expect(at('0', '1010')).toBeUndefined()
  expect(at('999', '4600')).toBeUndefined()
})

test('too close, past, far away and 2^256-1 are faults', () => {
  for (const validBefore of ['1009', '0', '4601', (2n ** 256n - 1n).toString()])
    expect(at('0', validBefore)).toContain('validBefore')
  expect(at('1000', '1300')).toContain('validAfter')
})
