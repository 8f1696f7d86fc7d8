import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { authorizationTypedData } from '../src/protocol/authorization.ts'
import { NETWORKS } from '../src/protocol/networks.ts'
import type { PaymentRequirements } from '../src/protocol/payment.ts'
import { readPayBundle } from '../src/transports/people/read-bundle.ts'
import { authorize, paymentHeader, typedData } from '../ui/pay/authorization.ts'

const LIMIT = 40_000

test('the script of the payment page is at most 40 kB compressed, and fits into a page', () => {
  const bundle = readPayBundle()
  if (bundle === undefined) throw new Error('dist/ui/pay/pay.js is missing: run npm run build')
  expect(gzipSync(bundle).length).toBeLessThan(LIMIT)
  expect(brotliCompressSync(bundle).length).toBeLessThan(LIMIT)
  expect(bundle).not.toMatch(/<\/script|<!--/i)
  expect(bundle, 'nothing is evaluated from text').not.toMatch(/\beval\(|new Function\(/)
})

test('without a build there is no payment page, and nothing fails', () => {
  expect(readPayBundle('/no/such/file.js')).toBeUndefined()
})

test('what a wallet is asked to sign is what the gateway checks', () => {
  const network = NETWORKS[0]!
  const accepted = {
    ...{ scheme: 'exact', network: network.id, asset: network.token.address, amount: '10000' },
    ...{
      payTo: `0x${'11'.repeat(20)}`,
      maxTimeoutSeconds: 900,
      extra: { ...network.token.domain, salt: 'é' },
    },
  } as unknown as PaymentRequirements
  const from = `0x${'22'.repeat(20)}` as const
  const authorization = authorize(accepted, from, 1_700_000_000)
  expect(authorization.nonce).toMatch(/^0x[0-9a-f]{64}$/)
  const known = { ...network, symbol: 'USDC', decimals: 6, coin: 'ETH' }
  const asked = typedData(accepted, known, authorization) as ReturnType<typeof authorizationTypedData>
  const checked = authorizationTypedData(
    network,
    authorization as Parameters<typeof authorizationTypedData>[1],
  )
  const asText = Object.fromEntries(
    Object.entries(checked.message).map(([name, value]) => [name, String(value)]),
  )
  expect(asked.domain).toEqual(checked.domain)
  expect(asked.types).toMatchObject(checked.types)
  expect([asked.primaryType, asked.message]).toEqual([checked.primaryType, asText])
  const terms = { resource: { description: 'über' } } as unknown as Parameters<typeof paymentHeader>[0]
  const header = paymentHeader(terms, accepted, { signature: '0x1', authorization })
  expect(JSON.parse(Buffer.from(header, 'base64').toString())).toMatchObject({
    ...{ x402Version: 2, network: network.id, accepted, resource: { description: 'über' } },
  })
})
