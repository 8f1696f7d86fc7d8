import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { receiptKeys } from '../../src/delivery/receipt-keys.ts'
import { parseSecretKeys } from '../../src/delivery/secret-keys.ts'
import { createReceiptSigner, didDocument } from '../../src/delivery/sign-receipts.ts'
import type { ReceiptView } from '../../src/transports/http/receipt-view.ts'
import { receiptHtml, unknownHtml } from '../../src/transports/http/render-receipt.ts'
import { cli } from '../e2e/cli-terminal.ts'

const keys = receiptKeys(parseSecretKeys('a secret of thirty-two or more characters').receipts, null)
const sale = {
  version: 1,
  network: 'eip155:84532',
  resourceUrl: 'https://shop.example/x402/access',
  payer: `0x${'11'.repeat(20)}`,
  issuedAt: 1_700_000_000,
  transaction: `0x${'22'.repeat(32)}`,
} as const

describe('the verifier', () => {
  let folder: string
  let answer: { status: number; body: string; headers?: Record<string, string> }
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.writeHead(answer.status, answer.headers ?? {}).end(answer.body)
  })
  let baseUrl: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'receipts-'))
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    server.close()
    await rm(folder, { recursive: true })
  })

  async function verify(text: string, ...flags: string[]) {
    const file = join(folder, 'receipt')
    await writeFile(file, text)
    return cli({}, 'receipts', 'verify', file, ...flags)
  }

  test('attack 45: tells a genuine receipt from forged, tampered and borrowed ones', async () => {
    const { sign } = createReceiptSigner(keys, baseUrl)
    answer = { status: 200, body: JSON.stringify(didDocument(keys, baseUrl)) }
    const genuine = sign(sale)
    expect(await verify(genuine)).toMatchObject({ code: 0, output: expect.stringContaining('VALID receipt') })
    const [head, , tail] = genuine.split('.')
    const richer = Buffer.from(JSON.stringify({ ...sale, payer: '0xmine' })).toString('base64url')
    const tampered = await verify(`${head}.${richer}.${tail}`)
    expect(tampered).toMatchObject({ code: 1, output: expect.stringContaining('NOT VALID') })
    expect(tampered.output, 'nothing of it is shown').not.toContain('0xmine')
    // The seller's host is named, the key is the forger's own.
    const own = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const forged = createReceiptSigner(receiptKeys([own], null), baseUrl).sign(sale)
    expect(await verify(forged)).toMatchObject({ code: 1, output: expect.stringContaining('no such key') })
    // Another kind of statement is not taken for a receipt, nor a receipt in a terminal's clothes.
    const odd = sign({ ...sale, type: 'gift' } as never)
    expect((await verify(odd)).code).toBe(1)
    const colourful = await verify(sign({ ...sale, resourceUrl: 'https://x/\u001b[2J\u202e' }))
    for (const hostile of ['\u001b', '\u202e']) expect(colourful.output).not.toContain(hostile)
  })

  test('attack 45: a document elsewhere, too large or behind a redirect proves nothing', async () => {
    const { sign } = createReceiptSigner(keys, baseUrl)
    const genuine = sign(sale)
    const document = JSON.stringify(didDocument(keys, baseUrl))
    asked.length = 0
    for (const bad of [
      { status: 302, body: '', headers: { location: '/elsewhere' } },
      { status: 200, body: ' '.repeat(70_000) + document },
      { status: 200, body: 'no json' },
      { status: 404, body: document },
    ]) {
      answer = bad
      expect(await verify(genuine)).toMatchObject({
        code: 1,
        output: expect.stringContaining('NOT VERIFIED'),
      })
    }
    expect(new Set(asked)).toEqual(new Set(['/.well-known/did.json']))
    const elsewhere = createReceiptSigner(keys, 'https://a.example').sign(sale)
    const saved = join(folder, 'did.json')
    await writeFile(saved, document)
    expect((await verify(elsewhere, '--key', saved)).code).toBe(1)
    expect((await verify(genuine, '--key', saved)).code).toBe(0)
  })
})

describe('the page', () => {
  const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>&`
  test('attack 46: shows hostile names, paths and explorers as text', () => {
    const view: ReceiptView = {
      type: 'Purchase',
      challengeId: evil,
      state: 'DELIVERED',
      seller: evil,
      expiresAt: evil,
      item: { kind: 'route', id: evil, description: evil, resourceId: evil, call: evil },
      price: evil,
      token: evil,
      network: { id: evil, name: evil },
      payer: evil,
      payTo: evil,
      transaction: { hash: evil, explorerUrl: `javascript:${evil}` },
      refundTransaction: { hash: evil, explorerUrl: `https://x/${evil}` },
      receipt: evil,
      refundReceipt: evil,
    }
    const seller = { name: evil, logoUrl: `/logo.svg?${evil}` }
    for (const html of [receiptHtml(view, evil, seller), unknownHtml(seller)]) {
      expect(html).not.toMatch(
        /<script|<img(?! src="\/logo\.svg\?[^"<>]*" alt="">)|href="javascript:|onerror=alert\(1\)>/,
      )
    }
  })
})
