import { describe, expect, test } from 'vitest'
import { encodeJson } from '../protocol/base64.ts'
import { BUYER_NETWORKS, findOffer, type RawOffer, readOffer } from './read-offer.ts'

const testnet = BUYER_NETWORKS.find(({ id }) => id === 'eip155:84532')!
const mainnet = BUYER_NETWORKS.find(({ id }) => id === 'eip155:8453')!
const good = {
  scheme: 'exact',
  network: testnet.id,
  asset: testnet.asset.toUpperCase().replace('0X', '0x'),
  amount: '1000000',
  payTo: `0x${'22'.repeat(20)}`,
  maxTimeoutSeconds: 900,
  extra: { name: 'Some other token', version: '9', unknown: [1] },
}
const raw = (...accepts: Array<Record<string, unknown>>): RawOffer => ({ x402Version: 2, accepts })
const read = (...accepts: Array<Record<string, unknown>>) =>
  readOffer(raw(...accepts), BUYER_NETWORKS, 1_000_000n)

describe('an offer', () => {
  test('at the limit passes, is echoed verbatim, and its domain comes from our own table', () => {
    const offer = read(good)
    expect(offer.accepted).toBe(good)
    expect(offer.amountMicro).toBe(1_000_000n)
    expect(offer.network.domain).toEqual({ name: 'USDC', version: '2' })
  })

  test.each([
    [
      'one micro-unit above the limit',
      { amount: '1000001' },
      'OVER_LIMIT',
      /\$1\.000001 and the limit \$1\.00/,
    ],
    ['another scheme', { scheme: 'upto' }, 'OFFER_REFUSED', /scheme "upto"/],
    [
      'an unknown network',
      { network: 'eip155:1' },
      'OFFER_REFUSED',
      /eip155:1; this buyer allows eip155:8453/,
    ],
    [
      'a look-alike token',
      { asset: `0x${'33'.repeat(20)}` },
      'OFFER_REFUSED',
      /USDC on eip155:84532 is 0x036c/,
    ],
    ["another chain's USDC", { asset: mainnet.asset }, 'OFFER_REFUSED', /USDC on eip155:84532/],
    ['a negative amount', { amount: '-1' }, 'OFFER_UNREADABLE', /accepts\[\]\.amount/],
    ['an amount with an exponent', { amount: '1e6' }, 'OFFER_UNREADABLE', /accepts\[\]\.amount/],
    ['a numeric amount', { amount: 1 }, 'OFFER_UNREADABLE', /accepts\[\]\.amount/],
    ['a payTo that is no address', { payTo: 'seller.eth' }, 'OFFER_UNREADABLE', /accepts\[\]\.payTo/],
  ])('with %s is refused', (_name, change, code, message) => {
    expect(() => read({ ...good, ...change })).toThrow(
      expect.objectContaining({ name: 'BuyerError', code, message: expect.stringMatching(message) }),
    )
  })

  test('the first of several offers that fits is taken; if none does, a price above the limit is reported first', () => {
    const foreign = { ...good, network: 'solana:x' }
    expect(read(foreign, good).accepted).toBe(good)
    expect(() => read(foreign, { ...good, amount: '9000000' })).toThrow(
      expect.objectContaining({ code: 'OVER_LIMIT' }),
    )
  })

  test('on a network of the caller is allowed only if named', () => {
    const local = { id: 'eip155:31337', chainId: 31337, asset: testnet.asset, domain: testnet.domain }
    const accepts = raw({ ...good, network: local.id })
    expect(() => readOffer(accepts, BUYER_NETWORKS, 1_000_000n)).toThrow()
    expect(readOffer(accepts, [local], 1_000_000n).network).toBe(local)
  })
})

describe('a 402', () => {
  test('is read from its header, else from its body', () => {
    expect(findOffer(encodeJson(raw(good)), 'x')?.accepts).toEqual([good])
    expect(findOffer(null, JSON.stringify(raw(good)))?.accepts).toEqual([good])
    expect(findOffer('%%%', JSON.stringify(raw(good)))?.accepts).toEqual([good])
  })

  test.each(['', 'pay!', '{}', '{"x402Version":1,"accepts":[{}]}', '{"x402Version":2,"accepts":[]}'])(
    'with body %j is no offer',
    (body) => {
      expect(findOffer(null, body)).toBeUndefined()
    },
  )
})
