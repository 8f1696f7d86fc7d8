import { createPublicKey } from 'node:crypto'
import fc from 'fast-check'
import { receiptKeys } from '../../src/delivery/receipt-keys.ts'
import { parseSecretKeys } from '../../src/delivery/secret-keys.ts'
import { createReceiptSigner, didDocument } from '../../src/delivery/sign-receipts.ts'
import { documentUrlOf } from '../../src/receipts/did-web.ts'
import { findJws } from '../../src/receipts/find-jws.ts'
import { keyIn, parseJws, verifyJws } from '../../src/receipts/verify-jws.ts'
import { fault, openTarget, type Target } from './target.ts'

const BASE_URL = 'https://shop.example'
const keys = receiptKeys(parseSecretKeys('a secret of thirty-two or more characters').receipts, null)
const document = didDocument(keys, BASE_URL)
const genuine = createReceiptSigner(keys, BASE_URL).sign({
  version: 1,
  network: 'eip155:84532',
  resourceUrl: `${BASE_URL}/x402/access`,
  payer: `0x${'11'.repeat(20)}`,
  issuedAt: 1_700_000_000,
  transaction: `0x${'22'.repeat(32)}`,
})
const publicKey = createPublicKey({ key: { ...document.verificationMethod[0]!.publicKeyJwk }, format: 'jwk' })

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value) ?? '').toString('base64url')
const part = fc.oneof(
  fc.constantFrom(...genuine.split('.')),
  fc.json().map((text) => Buffer.from(text).toString('base64url')),
  fc.record({ alg: fc.constantFrom('ES256', 'none', 'HS256'), kid: fc.string() }).map(encoded),
  fc.base64String({ maxLength: 120 }),
)
const jws = fc.oneof(
  { weight: 1, arbitrary: fc.constant(genuine) },
  { weight: 4, arbitrary: fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.')) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.nat(genuine.length - 1), fc.constantFrom('A', '_', '.', '='))
      .map(([at, character]) => genuine.slice(0, at) + character + genuine.slice(at + 1)),
  },
)
const saved = fc.oneof(
  jws,
  jws.map((text) => JSON.stringify({ receipt: text })),
  jws.map((text) => `payment-response: ${Buffer.from(JSON.stringify({ receipt: text })).toString('base64')}`),
  fc.string({ unit: 'binary' }),
  fc.json(),
)

/** What strangers give to `paystile receipts verify`. */
export const receiptsTarget: Target = {
  name: 'receipts',
  share: 5,
  open: async () =>
    openTarget({
      inputs: fc.record({
        text: saved,
        did: fc.oneof(
          fc.string(),
          fc.webUrl().map((url) => `did:web:${url.slice(8)}`),
        ),
      }),
      check({ text, did }) {
        const url = documentUrlOf(did)
        if (url && url.protocol !== 'https:' && !/^(localhost|127\.0\.0\.1)$/.test(url.hostname))
          fault(`${did} is asked by ${url.protocol}`)
        if (url && (url.username || url.search || !url.pathname.endsWith('/did.json')))
          fault(`${did} leads to ${url}`)
        const found = findJws(text)
        for (const one of found) {
          const parsed = parseJws(one)
          if ('fault' in parsed) continue
          for (const key of [keyIn(document, parsed), publicKey]) {
            const verified = key && verifyJws(parsed, key)
            if (verified && !('fault' in verified) && one !== genuine) fault(`${one} is taken for genuine`)
          }
        }
        return found.includes(genuine) ? 'genuine' : found.length > 0 ? 'refused' : 'nothing found'
      },
    }),
}
