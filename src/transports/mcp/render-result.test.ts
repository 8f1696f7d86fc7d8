import { expect, test } from 'vitest'
import { testOffer } from '../../../test/engine/test-payment.ts'
import { offeredOn, SELLER, testRail } from '../../../test/engine/test-rail.ts'
import { sampleDialects } from '../../../test/transports/sample-x402.ts'
import type { Outcome } from '../../engine/outcome.ts'
import { receiptExtension } from '../../protocol/receipts.ts'
import { createOutcomeRenderer } from '../http/render-outcome.ts'
import { createResultRenderer } from './render-result.ts'

const baseUrl = 'https://shop.example'
const dialects = sampleDialects(baseUrl)
const render = createResultRenderer(dialects, createOutcomeRenderer(dialects, baseUrl), baseUrl)
const settled = { network: 'eip155:84532', txHash: '0xab', payer: '0x1' }
const granted = { kind: 'granted', grant: { challengeId: 'mcp-1' }, cached: false } as const

test('the result of a tool that was delivered has the signed receipt, whichever way it was paid', () => {
  const outcome = { ...granted, settled: { ...settled, receipt: 'a.b.c' } } as unknown as Outcome
  for (const paysByMpp of [false, true]) {
    expect(render(outcome, paysByMpp)._meta?.['x402/payment-response']).toEqual({
      ...{ success: true, transaction: '0xab', network: 'eip155:84532', payer: '0x1' },
      extensions: receiptExtension('a.b.c'),
    })
  }
})

test('a purchase of an earlier version has none', () => {
  const outcome = { ...granted, settled } as unknown as Outcome
  expect(render(outcome, false)._meta?.['x402/payment-response']).not.toHaveProperty('extensions')
})

test('terms of a metered call say what to sign for them, and have nothing for MPP', () => {
  const fixed = testOffer({ rails: [offeredOn(testRail(), '20000', SELLER)] })
  const metered = testOffer({ rails: [{ ...fixed.rails[0]!, scheme: 'upto' }] })
  const [exact, upto] = [fixed, metered].map((offer) => render({ kind: 'challenge', offer }, false))
  const textOf = (result: typeof exact) => JSON.stringify(result!.content)
  expect(textOf(exact)).toMatch(/Sign an EIP-3009.*Clients of MPP/)
  expect(exact!._meta).toHaveProperty(['org.paymentauth/payment-required'])
  expect(textOf(upto)).toMatch(/Permit2.*permit2Authorization/)
  expect(textOf(upto)).not.toMatch(/EIP-3009|MPP/)
  expect(upto!._meta).not.toHaveProperty(['org.paymentauth/payment-required'])
})
