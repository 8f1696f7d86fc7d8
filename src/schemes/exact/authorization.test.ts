import { encodeAbiParameters } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Address, Hex } from '../../protocol/hex.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import {
  authorizationKey,
  isSameAuthorization,
  parseAuthorization,
  type SignedAuthorization,
  splitKey,
} from './authorization.ts'

const payer: Address = `0x${'ab'.repeat(20)}`
const seller: Address = `0x${'5e'.repeat(20)}`
const nonce: Hex = `0x${'cd'.repeat(32)}`
const authorization = {
  ...{ from: payer, to: seller, value: '1000', validAfter: '0', validBefore: '1300', nonce },
}
const signature: Hex = `0x${'11'.repeat(64)}1b`
const signed: SignedAuthorization = { ...authorization, signature }
const upper = (hex: string) => `0x${hex.slice(2).toUpperCase()}`

function wrap(inner: Hex, factory: Address = seller, deploy: Hex = '0x1234'): Hex {
  const shape = [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }] as const
  return `${encodeAbiParameters(shape, [factory, deploy, inner])}${'6492'.repeat(16)}`
}

describe('a payload', () => {
  test('is read in canonical form, with what it says about the terms', () => {
    const sent = { authorization: { ...authorization, from: upper(payer), nonce: upper(nonce) }, signature }
    expect(parseAuthorization(sent)).toEqual({
      signed,
      claims: [
        { about: 'amount', field: 'authorization.value', value: '1000' },
        { about: 'payTo', field: 'authorization.to', value: seller },
      ],
    })
    const named = parseAuthorization({ ...sent, from: seller })
    expect('claims' in named && named.claims.at(-1)).toEqual({
      about: 'payer',
      field: 'payload.from',
      value: seller,
    })
  })

  test.each([
    ['no object', 'x', 'payload'],
    ['no authorization', { signature }, 'payload.authorization'],
    ['a signature that is no hex', { authorization, signature: 'zz-secret' }, 'payload.signature'],
    ['a value that is no number', { authorization: { ...authorization, value: '1e3' }, signature }, 'value'],
  ])('with %s is refused, by the name of the field and without its content', (_, payload, named) => {
    const read = parseAuthorization(payload)
    expect('fault' in read && read.fault).toContain(named)
    expect(JSON.stringify(read)).not.toContain('zz-secret')
  })
})

test.each(NETWORKS)('the key on $word says chain, token, payer and nonce, in lower case', (network) => {
  const key = authorizationKey(network, upper(payer) as Address, upper(nonce) as Hex)
  expect(key).toBe(`${network.chainId}:${network.token.address}:${payer}:${nonce}`)
  expect(splitKey(key)).toEqual({ payer, nonce })
})

describe('two authorizations are the same', () => {
  test('if every field is; one signature may have lost its EIP-6492 wrapper', () => {
    expect(isSameAuthorization(signed, { ...signed })).toBe(true)
    const wrapped = { ...signed, signature: wrap(signature) }
    expect(isSameAuthorization(signed, wrapped)).toBe(true)
    expect(isSameAuthorization(wrapped, signed)).toBe(true)
    expect(isSameAuthorization(wrapped, { ...signed, signature: wrap(signature, payer, '0x') })).toBe(true)
  })

  test.each<Partial<SignedAuthorization>>([
    { from: seller },
    { to: payer },
    { value: '1001' },
    { validAfter: '1' },
    { validBefore: '1301' },
    { nonce: `0x${'ce'.repeat(32)}` },
    { signature: `0x${'12'.repeat(64)}1b` },
    { signature: wrap(`0x${'12'.repeat(64)}1b`) },
    // Ends like a wrapper and is none.
    { signature: `${signature}${'6492'.repeat(16)}` },
  ])('and not if one differs: %j', (change) => {
    expect(isSameAuthorization(signed, { ...signed, ...change })).toBe(false)
  })
})
