import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { decodeJsonObject, encodeJson } from '../protocol/base64.ts'
import { findNetwork } from '../protocol/networks.ts'
import { createBuyer } from './index.ts'

const testnet = findNetwork('testnet')!
const account = privateKeyToAccount(generatePrivateKey())

test.each<Record<string, unknown>>([
  { salt: 5 },
  { requestId: 'order 7' },
  { resourceId: '/weather/oslo' },
  { planId: 7, routeId: null },
  { challengeId: 'x'.repeat(200) },
])('an offer of any seller is paid, whatever its `extra` holds: %j', async (extra) => {
  const accepted = {
    ...{ scheme: 'exact', network: testnet.id, asset: testnet.token.address, amount: '10000' },
    ...{ payTo: `0x${'22'.repeat(20)}`, extra },
  }
  const required = encodeJson({ x402Version: 2, accepts: [accepted] })
  const sent: string[] = []
  const seller: typeof fetch = async (_input, init) => {
    const payment = new Headers(init?.headers).get('payment-signature')
    if (payment === null)
      return new Response('{}', { status: 402, headers: { 'payment-required': required } })
    sent.push(payment)
    return new Response('data')
  }
  const buyer = createBuyer({ account, maxAmount: '$1.00', maxTotal: '$0.02', fetch: seller })
  expect(await (await buyer.fetch('https://seller.example/data')).text()).toBe('data')
  expect(decodeJsonObject(sent[0]!)).toMatchObject({ accepted })
})
