import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSeal } from './seal.ts'
import { parseSecretKeys } from './secret-keys.ts'

const older = 'o'.repeat(32)
const newer = 'n'.repeat(32)
const sealWith = (list: string) => createSeal(parseSecretKeys(list).sealing)

describe('createSeal', () => {
  test('any JSON value can be opened again, for its own challenge only', () => {
    const { seal, open } = sealWith(older)
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const sealed = seal(value, 'http-1')
        expect(JSON.stringify(open(sealed, 'http-1'))).toBe(JSON.stringify(value))
        expect(open(sealed, 'http-2')).toBeUndefined()
      }),
    )
  })

  test('the sealed text shows nothing of its content', () => {
    const sealed = sealWith(older).seal({ accessToken: 'top-secret-token' }, 'http-1')
    expect(Buffer.from(sealed.split('.')[2]!, 'base64url').toString('latin1')).not.toContain('top-secret')
    expect(sealed).not.toContain('top-secret')
  })

  test('after a rotation the new key seals and the old one still opens', () => {
    const before = sealWith(older).seal({ n: 1 }, 'http-1')
    const rotated = sealWith(`${newer},${older}`)
    expect(rotated.open(before, 'http-1')).toEqual({ n: 1 })
    const after = rotated.seal({ n: 2 }, 'http-1')
    expect(sealWith(newer).open(after, 'http-1')).toEqual({ n: 2 })
    expect(sealWith(older).open(after, 'http-1')).toBeUndefined()
  })

  test('a retired key opens nothing any more', () => {
    expect(sealWith(newer).open(sealWith(older).seal({ n: 1 }, 'http-1'), 'http-1')).toBeUndefined()
  })

  test('two sealings of one value differ', () => {
    const { seal } = sealWith(older)
    expect(seal({ n: 1 }, 'http-1')).not.toBe(seal({ n: 1 }, 'http-1'))
  })

  test('a text with one changed byte or a shortened tag cannot be opened', () => {
    const { seal, open } = sealWith(older)
    const [version, id, text] = seal({ accessToken: 'x' }, 'http-1').split('.') as [string, string, string]
    const body = Buffer.from(text, 'base64url')
    for (let at = 0; at < body.length; at++) {
      const changed = Buffer.from(body)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      expect(open(`${version}.${id}.${changed.toString('base64url')}`, 'http-1')).toBeUndefined()
    }
    for (let length = 0; length < body.length; length++) {
      expect(
        open(`${version}.${id}.${body.subarray(0, length).toString('base64url')}`, 'http-1'),
      ).toBeUndefined()
    }
  })

  test.each(['', 'x', 's1', 's1..', '{"iss":"x"}', 's1.unknown.AAAA', 's2.x.y', 's1.a.b.c'])(
    '%j is no sealed text',
    (sealed) => {
      expect(sealWith(older).open(sealed, 'http-1')).toBeUndefined()
    },
  )
})
