import { createHash, createHmac, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createMac, sha256 } from './sha256.ts'

test('hashes and macs are those of node:crypto, for keys and data of any length', () => {
  for (const length of [0, 1, 31, 32, 63, 64, 65, 200]) {
    const data = randomBytes(length)
    expect(sha256(data)).toBe(createHash('sha256').update(data).digest('hex'))
    const text = data.toString('latin1')
    expect(sha256(text)).toBe(createHash('sha256').update(text, 'utf8').digest('hex'))
    const key = randomBytes(length)
    const mac = createMac(key)
    for (const head of [data, randomBytes(17), data]) {
      for (const after of ['', text, '€ 😀', 'a'.repeat(5000), 'b'])
        expect(mac(head, after)).toBe(createHmac('sha256', key).update(head).update(after).digest('hex'))
    }
  }
})
