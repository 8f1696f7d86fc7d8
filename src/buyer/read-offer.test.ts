import { describe, expect, test } from 'vitest'
import { encodeJson } from '../protocol/base64.ts'
import { allowedNetworks, BUYER_NETWORKS } from './buyer-networks.ts'
import { findOffer, type RawOffer, readOffers } from './read-offer.ts'

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
const read = (accepts: Array<Record<string, unknown>>, named?: Parameters<typeof allowedNetworks>[0]) =>
  readOffers(raw(...accepts), allowedNetworks(named), 1_000_000n)
const fitting = (...given: Parameters<typeof read>) => read(...given).fitting.map(({ accepted }) => accepted)

test.each(['scheme', 'network', 'asset'])(
  'a refusal shows no more of a long %s than its beginning',
  (name) => {
    const [unfit] = read([{ ...good, [name]: `eip155:${'9'.repeat(100_000)}` }]).unfit
    expect(unfit!.why.length).toBeLessThan(300)
    expect(unfit!.message.length).toBeLessThan(300)
  },
)

describe('an offer', () => {
  test('at the limit passes, is echoed verbatim, and its domain comes from our own table', () => {
    const offer = read([good]).fitting[0]!
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
    [
      'another scheme',
      { scheme: 'batch-settlement' },
      'OFFER_REFUSED',
      /scheme "batch-settlement"; this buyer pays "exact" and "upto"/,
    ],
    [
      'an unknown network',
      { network: 'eip155:5' },
      'OFFER_REFUSED',
      /eip155:5; this buyer allows eip155:8453/,
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
    expect(read([{ ...good, ...change }])).toEqual({
      fitting: [],
      unfit: [{ code, why: expect.any(String), message: expect.stringMatching(message) }],
    })
  })

  const facilitatorAddress = `0x${'33'.repeat(20)}`
  const metered = { ...good, scheme: 'upto', extra: { assetTransferMethod: 'permit2', facilitatorAddress } }

  test('of a metered call is taken with its maximum and its facilitator', () => {
    expect(read([metered]).fitting).toEqual([
      expect.objectContaining({ scheme: 'upto', facilitator: facilitatorAddress, amountMicro: 1_000_000n }),
    ])
  })

  test.each([
    ['another method', { assetTransferMethod: 'eip3009' }, /extra\.assetTransferMethod .* must be "permit2"/],
    ['no facilitator', { facilitatorAddress: undefined }, /extra\.facilitatorAddress/],
    ['a facilitator that is no address', { facilitatorAddress: '0x12' }, /extra\.facilitatorAddress/],
    ['the facilitator 0x0', { facilitatorAddress: `0x${'0'.repeat(40)}` }, /names the account 0x0/],
  ])('of a metered call with %s is refused', (_name, change, message) => {
    expect(read([{ ...metered, extra: { ...metered.extra, ...change } }])).toEqual({
      fitting: [],
      unfit: [{ code: 'OFFER_UNREADABLE', why: expect.any(String), message: expect.stringMatching(message) }],
    })
  })

  test('of a fixed price comes before a metered one, unless the caller prefers that or wants none', () => {
    const order = (mode?: 'use' | 'prefer' | 'off') =>
      readOffers(
        raw(metered, good),
        { ...allowedNetworks(undefined), ...(mode && { metered: mode }) },
        1_000_000n,
      ).fitting.map(({ accepted }) => accepted)
    expect(order()).toEqual([good, metered])
    expect(order('prefer')).toEqual([metered, good])
    expect(order('off')).toEqual([good])
  })

  test('among several is taken in the seller’s order, or in that of the caller', () => {
    const foreign = { ...good, network: 'solana:x' }
    const arbitrum = BUYER_NETWORKS.find(({ id }) => id === 'eip155:421614')!
    const second = { ...good, network: arbitrum.id, asset: arbitrum.asset }
    const offered = [foreign, good, second, { ...good, amount: '9000000' }]
    expect(fitting(offered)).toEqual([good, second])
    expect(fitting(offered, ['arbitrum-sepolia', 'eip155:84532'])).toEqual([second, good])
    expect(fitting(offered, ['arbitrum-sepolia'])).toEqual([second])
    expect(read(offered, ['arbitrum-sepolia']).unfit.map(({ why }) => why)).toEqual([
      'solana:x is not among the networks that this buyer allows',
      'Base Sepolia is not among the networks that this buyer allows',
      'Base Sepolia is not among the networks that this buyer allows',
    ])
  })

  test('of test money never leads to real money beside it, unless the caller named both', () => {
    const real = { ...good, network: mainnet.id, asset: mainnet.asset }
    const dear = { ...good, amount: '9000000' }
    expect(fitting([good, real])).toEqual([good])
    expect(fitting([real, good])).toEqual([real])
    expect(fitting([dear, real])).toEqual([])
    expect(read([dear, real]).unfit[1]!.why).toMatch(/^Base takes real money .* name it in networks/)
    expect(fitting([dear, real], ['base-sepolia', 'base'])).toEqual([real])
  })

  test('in a token of other decimals is compared with the limit in dollars, rounded up, and signed in its own units', () => {
    const fine = { ...testnet, decimals: 18 }
    const price = (amount: string) => read([{ ...good, amount }], [fine])
    expect(price('1000000000000000000').fitting[0]).toMatchObject({
      amountMicro: 1_000_000n,
      amountUnits: 10n ** 18n,
    })
    expect(price('1000000000000000001').unfit[0]!.code).toBe('OVER_LIMIT')
    expect(read([{ ...good, amount: '101' }], [{ ...testnet, decimals: 2 }]).unfit[0]!.message).toContain(
      'the price is $1.01 and the limit $1.00',
    )
  })

  test('on a network of the caller is allowed only if named', () => {
    const local = { id: 'eip155:31337', chainId: 31337, asset: testnet.asset, domain: testnet.domain }
    const accepts = [{ ...good, network: local.id }]
    expect(read(accepts).fitting).toEqual([])
    expect(read(accepts, [local]).fitting[0]!.network).toBe(local)
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
