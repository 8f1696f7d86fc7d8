import { describe, expect, test } from 'vitest'
import { ConfigError } from '../errors.ts'
import { parseSecretKeys } from './secret-keys.ts'

const first = 'a'.repeat(32)
const second = 'b'.repeat(40)

describe('parseSecretKeys', () => {
  test('keys and ids of a secret do not depend on its place in the list', () => {
    const alone = parseSecretKeys(first)
    const rotated = parseSecretKeys(` ${second} , ${first} `)
    expect(rotated.sealing[1]).toEqual(alone.sealing[0])
    expect(rotated.ids[1]).toEqual(alone.ids[0])
    expect(rotated.ids[0]).not.toEqual(alone.ids[0])
  })

  test('every purpose has a key of its own, and none is the secret itself', () => {
    const { sealing, ids } = parseSecretKeys(first)
    expect(Buffer.from(sealing[0]!.key).equals(ids[0]!.key)).toBe(false)
    expect(sealing[0]!.key).toHaveLength(32)
    expect(ids[0]!.key).toHaveLength(32)
    expect(Buffer.from(ids[0]!.key).toString()).not.toContain('aaaa')
    expect(Number.isInteger(ids[0]!.id) && ids[0]!.id >= 0 && ids[0]!.id < 256).toBe(true)
  })

  test('the derivation never changes: old challenges and sealed results must stay readable', () => {
    const { sealing, ids } = parseSecretKeys(first)
    expect(sealing[0]!.id).toBe('Pqr_5L1Z')
    expect(ids[0]!.id).toBe(35)
    expect(Buffer.from(sealing[0]!.key).toString('hex')).toBe(
      '85aa6498286ce56e3238395058a673f979d6eb9052a7d90ed9445d4c7c0a5c91',
    )
    expect(Buffer.from(ids[0]!.key).toString('hex')).toBe(
      '7765b9b2d82fc35c34bea26b60d20548c673e925cd6cfcd6ab5de3114090191a',
    )
  })

  test.each([
    ['', 'has 0 characters'],
    ['short', 'has 5 characters'],
    [`${first},`, '(key 2 of 2) has 0 characters'],
    [`${first},${first}`, '(key 2 of 2) is there twice'],
  ])('%j is refused', (list, fault) => {
    expect(() => parseSecretKeys(list)).toThrow(ConfigError)
    expect(() => parseSecretKeys(list)).toThrow(fault)
  })

  test('a fault never repeats the secret', () => {
    expect(() => parseSecretKeys('hunter2,hunter3')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter') }),
    )
  })

  test('two keys with the same one-byte id are refused, since challenges could not be verified', () => {
    const seen = new Map<number, string>()
    let clash: [string, string] | undefined
    for (let n = 0; !clash; n++) {
      const secret = `${n}`.padStart(32, '0')
      const id = parseSecretKeys(secret).ids[0]!.id
      const other = seen.get(id)
      if (other) clash = [other, secret]
      seen.set(id, secret)
    }
    expect(() => parseSecretKeys(clash!.join(','))).toThrow('same key id')
  })
})
