import { describe, expect, test } from 'vitest'
import { testOffer } from '../../../test/engine/test-payment.ts'
import { MAINNET, offeredOn, SELLER, TESTNET, testRail } from '../../../test/engine/test-rail.ts'
import { paymentRequired, settleResponse } from './render-offer.ts'

const baseUrl = 'https://api.example.com/pay'

describe('a 402', () => {
  test('of a plan is paid at the access endpoint', () => {
    expect(paymentRequired(testOffer(), baseUrl)).toEqual({
      x402Version: 2,
      error: 'Payment required',
      resource: {
        url: 'https://api.example.com/pay/x402/access',
        method: 'POST',
        description: 'One hour',
        mimeType: 'application/json',
      },
      accepts: [
        {
          scheme: 'exact',
          network: TESTNET.id,
          asset: TESTNET.token.address,
          amount: '1000000',
          payTo: SELLER,
          maxTimeoutSeconds: 900,
          extra: {
            ...{
              name: 'USDC',
              version: '2',
              paymentFlow: 'upfront',
              description: 'One hour',
              planId: 'basic',
            },
            ...{ challengeId: 'http-1', requestId: 'r-1', resourceId: 'default', salt: 's' },
          },
        },
      ],
      challengeId: 'http-1',
      requestId: 'r-1',
    })
  })

  test('of a route names the call, below the base URL or where it was made', () => {
    const resource = { method: 'GET', path: '/weather/paris?u=c' }
    const offer = testOffer({ kind: 'route', itemId: 'weather', resource })
    const required = paymentRequired(offer, baseUrl)
    expect(required.resource).toMatchObject({ ...{ method: 'GET' }, url: `${baseUrl}/weather/paris?u=c` })
    expect(required.accepts[0]!.extra).toMatchObject({ routeId: 'weather' })
    expect(required.accepts[0]!.extra).not.toHaveProperty('planId')
    const url = 'https://api.example.com/weather/paris?u=c'
    expect(paymentRequired({ ...offer, url }, baseUrl).resource.url).toBe(url)
  })

  test('asks on every rail in the seller’s order, each in its own token and to its own recipient', () => {
    const payTo = `0x${'77'.repeat(20)}` as const
    const rails = [
      offeredOn(testRail(), '1000000', SELLER),
      offeredOn(testRail({ network: MAINNET }), '2000000', payTo),
    ]
    const { accepts } = paymentRequired(testOffer({ rails }), baseUrl)
    expect(accepts.map(({ network, asset, amount, payTo }) => ({ network, asset, amount, payTo }))).toEqual([
      { network: TESTNET.id, asset: TESTNET.token.address, amount: '1000000', payTo: SELLER },
      { network: MAINNET.id, asset: MAINNET.token.address, amount: '2000000', payTo },
    ])
    expect(accepts.map(({ extra }) => extra.name)).toEqual(['USDC', 'USD Coin'])
    expect(accepts.map(({ extra }) => extra.salt)).toEqual(['s', 's'])
  })
})

describe('what became of a payment', () => {
  const network = TESTNET.id
  const payer = `0x${'22'.repeat(20)}` as const

  test('is its transaction, or why no money moved', () => {
    expect(settleResponse({ network, payer, txHash: '0xab' })).toEqual({
      success: true,
      transaction: '0xab',
      network,
      payer,
    })
    expect(settleResponse({ network, failure: 'insufficient_funds' })).toEqual({
      success: false,
      transaction: '',
      network,
      errorReason: 'insufficient_funds',
    })
  })
})
