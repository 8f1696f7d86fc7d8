import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { CHALLENGE_RANDOM_BYTES, makeChallengeId, parseChallengeId, provesTerms } from './challenge-id.ts'
import type { RailTerms, Terms } from './terms.ts'

const key = { id: 7, key: randomBytes(32) }
const terms: Terms = {
  kind: 'plan',
  itemId: 'basic',
  resourceId: 'default',
  resource: null,
  resourceHash: '',
  amount: '1000000',
  requestId: 'r-1',
  credits: 0,
}
const rail: RailTerms = {
  rail: 'eip155:84532/0x036cbd53842c5426634e7929541ec2318f3dcf7e/exact',
  network: 'eip155:84532',
  asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
  payTo: '0x1111111111111111111111111111111111111111',
}
const TEXTS = Object.keys(terms).filter((field) => !['resource', 'credits'].includes(field))
const make = () => makeChallengeId(key, 'http', 1_800_000_000_000, randomBytes(CHALLENGE_RANDOM_BYTES), terms)

describe('a challenge id', () => {
  test('proves the terms it was made for, and its expiry', () => {
    const parsed = parseChallengeId(make())
    expect(parsed).toMatchObject({ transport: 'http', keyId: 7, expiresAt: 1_800_000_000_000 })
    expect(provesTerms([key], parsed!, terms, [rail])).toBe(true)
  })

  test.each(TEXTS)('does not prove another %s', (field) => {
    expect(provesTerms([key], parseChallengeId(make())!, { ...terms, [field]: 'other' }, [rail])).toBe(false)
  })

  test('proves how many credits a plan grants', () => {
    const random = randomBytes(CHALLENGE_RANDOM_BYTES)
    const idOf = (credits: number) =>
      makeChallengeId(key, 'http', 1_800_000_000_000, random, { ...terms, credits })
    for (const [offered, claimed] of [
      [0, 5],
      [5, 0],
      [5, 50],
      [50, 5],
      [5, 5],
    ] as const)
      expect(provesTerms([key], parseChallengeId(idOf(offered))!, { ...terms, credits: claimed }, [])).toBe(
        offered === claimed,
      )
  })

  test('does not prove the same text split into other fields', () => {
    const parsed = parseChallengeId(make())!
    for (const [itemId, resourceId] of [
      ['basi', 'cdefault'],
      ['basicd', 'efault'],
      ['basic7:default', ''],
      ['', 'basic7:default'],
    ] as const)
      expect(provesTerms([key], parsed, { ...terms, itemId, resourceId }, [rail])).toBe(false)
  })

  test('proves them for any rails, because it names none', () => {
    const parsed = parseChallengeId(make())!
    const elsewhere = { ...rail, network: 'eip155:8453', payTo: '0x2222222222222222222222222222222222222222' }
    for (const rails of [[], [rail], [elsewhere as RailTerms], [elsewhere as RailTerms, rail]])
      expect(provesTerms([key], parsed, terms, rails)).toBe(true)
  })

  test('no flipped bit passes', () => {
    const id = make()
    const bytes = Buffer.from(id.slice(5), 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const forged = Buffer.from(bytes)
      forged[bit >> 3]! ^= 1 << (bit & 7)
      const parsed = parseChallengeId(`http-${forged.toString('base64url')}`)
      expect(parsed && provesTerms([key], parsed, terms, [rail])).toBeFalsy()
    }
  })

  test('another transport, another key and another spelling do not pass', () => {
    const id = make()
    expect(provesTerms([key], parseChallengeId(id.replace('http-', 'a2a-'))!, terms, [rail])).toBe(false)
    expect(provesTerms([{ id: 7, key: randomBytes(32) }], parseChallengeId(id)!, terms, [rail])).toBe(false)
    expect(provesTerms([{ ...key, id: 8 }], parseChallengeId(id)!, terms, [rail])).toBe(false)
    for (const other of [`${id}A`, id.slice(0, -1), id.toUpperCase(), ` ${id}`, 'http-', '']) {
      expect(parseChallengeId(other)).toBeUndefined()
    }
  })

  test('a retired key still verifies', () => {
    expect(
      provesTerms([{ id: 9, key: randomBytes(32) }, key], parseChallengeId(make())!, terms, [rail]),
    ).toBe(true)
  })
})

describe('an id of the earlier format, which also proves network, token and recipient', () => {
  const earlierKey = { id: 7, key: new Uint8Array(32).fill(5) }
  /** Made by that version from these terms; every random byte is 9. */
  const parsed = parseChallengeId('http-BwBrSdIACQkJCQkJCQkJCQkJ3HC9M3259iI_FAVEbYH1tA')!
  const proves = (changed: Partial<Terms>, rails: readonly RailTerms[]) =>
    provesTerms([earlierKey], parsed, { ...terms, ...changed }, rails)
  const other = '0x2222222222222222222222222222222222222222' as const

  test('verifies if its rail is among the given ones', () => {
    expect(parsed).toMatchObject({ transport: 'http', keyId: 7, expiresAt: 1_800_000_000_000 })
    expect(proves({}, [rail])).toBe(true)
    expect(proves({}, [{ ...rail, network: 'eip155:8453' }, rail])).toBe(true)
  })

  test.each(['network', 'asset', 'payTo'] as const)('does not verify for another %s', (field) => {
    expect(proves({}, [{ ...rail, [field]: other }])).toBe(false)
  })

  test.each(TEXTS)('nor for another %s', (field) => {
    expect(proves({ [field]: 'other' }, [rail])).toBe(false)
  })

  test('nor where no rail is given, or under another key', () => {
    expect(proves({}, [])).toBe(false)
    expect(provesTerms([key], parsed, terms, [rail])).toBe(false)
  })
})
