import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ExactEvmScheme } from '@x402/evm'
import {
  decodeSignedOffers,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureJWS,
} from '@x402/extensions/offer-receipt'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { Header, PaymentRequiredSchema } from 'mppx/x402'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import { cli } from './cli-terminal.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld } from './routes-world.ts'
import { PRICE } from './world.ts'

let shop: RoutesWorld
let folder: string
beforeAll(async () => {
  shop = await startRoutesWorld({
    options: { signedOffers: true, refundMinAgeSeconds: 1, refundIntervalSeconds: 1 },
  })
  folder = await mkdtemp(join(tmpdir(), 'receipts-'))
})
afterAll(async () => {
  await shop.stop()
  await rm(folder, { recursive: true })
})

const signatureIn = (answer: { receipt: unknown }) =>
  (answer.receipt as { extensions?: Record<string, { info: { receipt: { signature: string } } }> })
    .extensions?.['offer-receipt']?.info.receipt.signature

test('the official client buys, and the official verifiers take offer and receipt by did.json', async () => {
  const { world } = shop
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const seen: Response[] = []
  const watched = async (...sent: Parameters<typeof fetch>) => {
    const response = await fetch(...sent)
    seen.push(response.clone())
    return response
  }
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(buyer.account))
  const response = await wrapFetchWithPayment(watched as typeof fetch, client)(
    `${world.baseUrl}/x402/access`,
    {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"planId":"basic"}',
    },
  )
  expect(response.status).toBe(200)
  const required = decodeJsonObject(seen[0]!.headers.get('payment-required')!)
  const [offer] = decodeSignedOffers(extractOffersFromPaymentRequired(required as never))
  expect(await verifyOfferSignatureJWS(offer!.signedOffer as never)).toMatchObject({ amount: String(PRICE) })
  const receipt = extractReceiptFromResponse(response)
  const { txHash, challengeId } = (await response.json()) as { txHash: string; challengeId: string }
  expect(await verifyReceiptSignatureJWS(receipt as never)).toMatchObject({ transaction: txHash })
  expect(verifyReceiptMatchesOffer(receipt as never, offer!, [buyer.address])).toBe(true)

  const status = await world.status(challengeId)
  expect(status).toMatchObject({
    receipt: (receipt as { signature: string }).signature,
    receiptUrl: `${world.baseUrl}/receipts/${challengeId}`,
  })
  expect(response.headers.get('x-svc-receipt-url')).toBe(status.receiptUrl)

  const file = join(folder, 'headers.txt')
  await writeFile(
    file,
    `HTTP/1.1 200 OK\r\npayment-response: ${response.headers.get('payment-response')}\r\n`,
  )
  const told = await cli({}, 'receipts', 'verify', file)
  expect(told).toMatchObject({ code: 0 })
  expect(told.output).toContain('VALID receipt of a delivery')
  expect(told.output).toContain(txHash)

  const page = await fetch(status.receiptUrl!, { headers: { accept: 'text/html' } })
  expect(page.status).toBe(200)
  expect(await page.text()).toContain('Paid and delivered.')
})

test('a strict client, which wants info and schema of every extension, reads each 402 and the answer to its payment', async () => {
  const { world } = shop
  const unpaid = [await world.access({ planId: 'basic' }), await shop.call('/weather/oslo')]
  const buyer = await world.chain.newBuyer()
  const header = await world.sign(buyer, (await world.terms()).accepts[0]!)
  const refused = await world.pay(header)
  expect(refused.body).toMatchObject({ code: 'PAYMENT_FAILED' })
  const offered = ['payment-identifier', 'bazaar', 'offer-receipt']
  for (const { headers } of [...unpaid, refused]) {
    const { extensions } = Header.decodePaymentRequired(headers.get('payment-required')!)
    expect(Object.keys(extensions!)).toEqual(expect.arrayContaining(offered))
  }
  for (const { body } of unpaid) {
    const { extensions } = PaymentRequiredSchema.parse(body)
    expect(Object.keys(extensions!)).toEqual(['payment-identifier', 'bazaar', 'svc'])
  }
  await world.chain.mint(buyer.address, PRICE)
  const paid = await world.payUntilDecided(await world.sign(buyer, (await world.terms()).accepts[0]!))
  const { extensions, ...settled } = Header.decodePaymentResponse(paid.headers.get('payment-response')!)
  expect(settled).toMatchObject({ success: true, transaction: paid.body.txHash })
  expect(extensions).toHaveProperty('offer-receipt.info.receipt.signature', signatureIn(paid))
})

test('a replay has the same receipt', async () => {
  const { world } = shop
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const terms = await world.terms()
  const header = await world.sign(buyer, terms.accepts[0]!)
  const first = await world.payUntilDecided(header)
  const again = await world.pay(header)
  expect(signatureIn(first)).toMatch(/^ey/)
  expect(signatureIn(again)).toBe(signatureIn(first))
})

test('a call that is not delivered has no receipt; its refund has', async () => {
  const { world } = shop
  shop.backend.answer = (_call, response) => void response.writeHead(500).end()
  const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
  const { header, required } = await shop.signFor(buyer, '/weather/paris?u=c')
  const answer = await shop.call('/weather/paris?u=c', {}, header)
  expect(answer.receipt).toMatchObject({ success: true })
  expect(signatureIn(answer)).toBeUndefined()
  await world.chain.mine(70)
  const status = await world.until(required.challengeId, 'REFUNDED')
  expect(status.receipt).toBeUndefined()
  const refund = await verifyReceiptSignatureJWS({ format: 'jws', signature: status.refundReceipt! })
  expect(refund).toMatchObject({
    type: 'refund',
    resourceUrl: `${world.baseUrl}/weather/paris?u=c`,
    payer: buyer.address.toLowerCase(),
    amount: String(CALL_PRICE),
    transaction: status.txHash,
    refundTransaction: status.refundTxHash,
  })
})
