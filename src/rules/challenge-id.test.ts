import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { CHALLENGE_RANDOM_BYTES, makeChallengeId, parseChallengeId, provesTerms } from './challenge-id.ts'
import type { Terms } from './terms.ts'

const key = { id: 7, key: randomBytes(32) }
const terms: Terms = {
  kind: 'plan',
  itemId: 'basic',
  resourceId: 'default',
  resource: null,
  resourceHash: '',
  amount: '1000000',
  asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
  network: 'eip155:84532',
  payTo: '0x1111111111111111111111111111111111111111',
  requestId: 'r-1',
}
const make = () => makeChallengeId(key, 'http', 1_800_000_000_000, randomBytes(CHALLENGE_RANDOM_BYTES), terms)

describe('a challenge id', () => {
  test('proves the terms it was made for, and its expiry', () => {
    const parsed = parseChallengeId(make())
    expect(parsed).toMatchObject({ transport: 'http', keyId: 7, expiresAt: 1_800_000_000_000 })
    expect(provesTerms([key], parsed!, terms)).toBe(true)
  })

  test.each(Object.keys(terms).filter((field) => field !== 'resource'))(
    'does not prove another %s',
    (field) => {
      expect(provesTerms([key], parseChallengeId(make())!, { ...terms, [field]: 'other' })).toBe(false)
    },
  )

  test('does not prove fields that were cut elsewhere', () => {
    const parsed = parseChallengeId(make())!
    for (const [itemId, resourceId] of [
      ['basi', 'cdefault'],
      ['basicd', 'efault'],
      ['basic7:default', ''],
      ['', 'basic7:default'],
    ] as const)
      expect(provesTerms([key], parsed, { ...terms, itemId, resourceId })).toBe(false)
  })

  test('no flipped bit passes', () => {
    const id = make()
    const bytes = Buffer.from(id.slice(5), 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const forged = Buffer.from(bytes)
      forged[bit >> 3]! ^= 1 << (bit & 7)
      const parsed = parseChallengeId(`http-${forged.toString('base64url')}`)
      expect(parsed && provesTerms([key], parsed, terms)).toBeFalsy()
    }
  })

  test('another transport, another key and another spelling do not pass', () => {
    const id = make()
    expect(provesTerms([key], parseChallengeId(id.replace('http-', 'a2a-'))!, terms)).toBe(false)
    expect(provesTerms([{ id: 7, key: randomBytes(32) }], parseChallengeId(id)!, terms)).toBe(false)
    expect(provesTerms([{ ...key, id: 8 }], parseChallengeId(id)!, terms)).toBe(false)
    for (const other of [`${id}A`, id.slice(0, -1), id.toUpperCase(), ` ${id}`, 'http-', '']) {
      expect(parseChallengeId(other)).toBeUndefined()
    }
  })

  test('a retired key still verifies', () => {
    expect(provesTerms([{ id: 9, key: randomBytes(32) }, key], parseChallengeId(make())!, terms)).toBe(true)
  })
})
