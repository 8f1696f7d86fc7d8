import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { testOffer } from '../../../test/engine/test-payment.ts'
import { offeredOn, testRail } from '../../../test/engine/test-rail.ts'
import { createX402 } from '../../dialects/x402/create-x402.ts'
import { decodeJsonObject } from '../../protocol/base64.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import type { PaymentRequired } from '../../protocol/payment.ts'
import { createOutcomeRenderer } from './render-outcome.ts'

const BASE_URL = 'https://weather.api.example.com'
const sixRails = NETWORKS.filter(({ testnet }) => !testnet)
  .slice(0, 6)
  .map((network) => testRail({ network }))
const x402 = createX402(sixRails, BASE_URL)
const render = createOutcomeRenderer(x402, BASE_URL)
const offer = testOffer({
  challengeId: `http-${'a'.repeat(46)}`,
  requestId: '5f0c7a56-4f40-4b7e-9d43-1c7a4d1f4b6e',
  resourceId: 'europe-west-forecast',
  salt: 's'.repeat(22),
  description: 'Hourly forecasts. '.repeat(16),
  rails: sixRails.map((rail) => offeredOn(rail, '1000000', rail.payTo)),
})

test('the headers of a 402 with six rails stay well below 8 KiB', () => {
  const { headers } = render.outcome({ kind: 'challenge', offer })
  const bytes = Object.entries(headers).reduce(
    (sum, [name, value]) => sum + name.length + value.length + 4,
    0,
  )
  expect(bytes).toBeLessThan(6 * 1024)
})

test('only its first entry repeats the description; every one has what a buyer must echo', () => {
  const { accepts } = x402.paymentRequired(offer)
  expect(accepts.map(({ extra }) => extra.description !== undefined)).toEqual([
    ...[true, false, false],
    ...[false, false, false],
  ])
  for (const { extra } of accepts) {
    const { challengeId, requestId, resourceId, salt } = offer
    expect(extra).toMatchObject({ planId: 'basic', challengeId, requestId, resourceId, salt, version: '2' })
  }
})

test('the official client pays the entry of the network that it may pay on', async () => {
  const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)
  for (const { network } of sixRails) {
    const sent: string[] = []
    const seller = async (...sentBy: Parameters<typeof fetch>) => {
      const header = new Request(...sentBy).headers.get('payment-signature')
      if (header !== null) {
        sent.push(header)
        return Response.json({})
      }
      const { status, headers, body } = render.outcome({ kind: 'challenge', offer })
      return new Response(body, { status, headers })
    }
    const client = new x402Client().register(network.id as `eip155:${number}`, new ExactEvmScheme(account))
    const answer = await wrapFetchWithPayment(seller as typeof fetch, client)(`${BASE_URL}/x402/access`, {
      method: 'POST',
    })
    expect(answer.status).toBe(200)
    const { accepted } = decodeJsonObject(sent[0]!) as { accepted: PaymentRequired['accepts'][number] }
    expect(accepted).toEqual(x402.paymentRequired(offer).accepts.find((one) => one.network === network.id))
    expect(x402.readHeader(sent[0]!)).toMatchObject({ rail: expect.stringContaining(`${network.id}/`) })
  }
})
