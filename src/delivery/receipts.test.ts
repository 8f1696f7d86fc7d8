import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { verifyOfferSignatureJWS, verifyReceiptSignatureJWS } from '@x402/extensions/offer-receipt'
import { describe, expect, test } from 'vitest'
import { didOf, documentUrlOf } from '../receipts/did-web.ts'
import { findJws } from '../receipts/find-jws.ts'
import { keyIn, parseJws, verifyJws } from '../receipts/verify-jws.ts'
import { privateKeyFrom, receiptKeys } from './receipt-keys.ts'
import { parseSecretKeys } from './secret-keys.ts'
import { createReceiptSigner, didDocument } from './sign-receipts.ts'

const BASE_URL = 'https://shop.example:8443/pay'
const [OLD, NEW] = [
  'an old secret of thirty-two or more characters',
  'a new secret of thirty-two or more characters',
]
const sale = {
  version: 1,
  network: 'eip155:84532',
  resourceUrl: `${BASE_URL}/x402/access`,
  payer: `0x${'11'.repeat(20)}`,
  issuedAt: 1_700_000_000,
  transaction: `0x${'22'.repeat(32)}`,
} as const
const refund = {
  ...sale,
  type: 'refund',
  asset: `0x${'33'.repeat(20)}`,
  amount: '1000000',
  refundTransaction: `0x${'44'.repeat(32)}`,
} as const

const keysOf = (list: string, pem: string | null = null) => receiptKeys(parseSecretKeys(list).receipts, pem)

function verdictOf(jws: string, document: unknown) {
  const parsed = parseJws(jws)
  if ('fault' in parsed) return parsed
  const key = keyIn(document, parsed)
  return key ? verifyJws(parsed, key) : { fault: 'no such key' }
}

describe('keys', () => {
  test('follow from the secret: every instance with it has the same, and another secret another', () => {
    expect(keysOf(OLD).keys).toEqual(keysOf(OLD).keys)
    expect(keysOf(OLD).keys[0].thumbprint).not.toBe(keysOf(NEW).keys[0].thumbprint)
  })

  test('derived bytes that are no private key are passed over', () => {
    const tried: number[] = []
    const candidates = [Buffer.alloc(32), Buffer.alloc(32, 0xff), Buffer.alloc(32, 7)]
    const key = privateKeyFrom((attempt) => {
      tried.push(attempt)
      return candidates[attempt]!
    })
    expect(tried).toEqual([0, 1, 2])
    expect(key.export({ format: 'jwk' }).d).toBe(Buffer.alloc(32, 7).toString('base64url'))
  })

  test('an older secret’s receipts verify as long as it is in the list', () => {
    const signed = createReceiptSigner(keysOf(OLD), BASE_URL).sign(sale)
    expect(verdictOf(signed, didDocument(keysOf(`${NEW},${OLD}`), BASE_URL))).toMatchObject({
      kind: 'receipt',
    })
    expect(verdictOf(signed, didDocument(keysOf(NEW), BASE_URL))).toEqual({ fault: 'no such key' })
  })

  test('a PEM signs, its older ones and the derived keys stay published, and nothing private is', () => {
    const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = (key: KeyObject) =>
      String(key.export({ format: 'pem', type: key.type === 'private' ? 'pkcs8' : 'spki' }))
    const [first, older] = [pair(), pair()]
    const keys = keysOf(OLD, pem(first.privateKey) + pem(older.publicKey))
    const document = didDocument(keys, BASE_URL)
    expect(document.verificationMethod).toHaveLength(3)
    expect(JSON.stringify(document)).not.toContain('"d"')
    expect(verdictOf(createReceiptSigner(keys, BASE_URL).sign(sale), document)).toMatchObject({
      kind: 'receipt',
    })
    expect(verdictOf(createReceiptSigner(keysOf(OLD), BASE_URL).sign(sale), document)).toMatchObject({
      kind: 'receipt',
    })
  })

  test('a key that is not on P-256, or no private key, is refused', () => {
    const wrong = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey
    const pem = String(wrong.export({ format: 'pem', type: 'pkcs8' }))
    expect(() => keysOf(OLD, pem)).toThrow('ES256 needs a key on P-256')
    const open = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
    expect(() => keysOf(OLD, String(open.export({ format: 'pem', type: 'spki' })))).toThrow('cannot be read')
  })
})

describe('signed statements', () => {
  const keys = keysOf(OLD)
  const document = didDocument(keys, BASE_URL)
  const { sign } = createReceiptSigner(keys, BASE_URL)

  test('the official verifier takes receipts and offers', async () => {
    const publicKey = document.verificationMethod[0]!.publicKeyJwk
    const payload = await verifyReceiptSignatureJWS({ format: 'jws', signature: sign(sale) }, publicKey)
    expect(payload).toEqual(sale)
    const { version, network, resourceUrl } = sale
    const offer = {
      version,
      network,
      resourceUrl,
      scheme: 'exact',
      asset: '0xa',
      payTo: '0xb',
      amount: '1',
      validUntil: 9,
    }
    const signature = sign(offer)
    expect(await verifyOfferSignatureJWS({ format: 'jws', signature, acceptIndex: 0 }, publicKey)).toEqual(
      offer,
    )
    expect(verdictOf(signature, document)).toEqual({ kind: 'offer', offer })
  })

  test('the payload is canonical JSON, and the header has alg and kid alone', () => {
    const [header, payload] = sign(refund)
      .split('.')
      .map((part) => Buffer.from(part, 'base64url').toString())
    expect(Object.keys(JSON.parse(payload!))).toEqual(Object.keys(refund).sort())
    const kid = `did:web:shop.example%3A8443:pay#${keys.keys[0].thumbprint}`
    expect(JSON.parse(header!)).toEqual({ alg: 'ES256', kid })
    expect(verdictOf(sign(refund), document)).toEqual({ kind: 'refund', receipt: refund })
  })

  test('whatever is changed, nothing of it is believed', () => {
    const [header, payload, signature] = sign(sale).split('.') as [string, string, string]
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const other = sign({ ...sale, payer: `0x${'99'.repeat(20)}` }).split('.')
    const changed = [
      `${header}.${other[1]}.${signature}`,
      `${header}.${payload}.${other[2]}`,
      `${encode({ alg: 'none', kid: document.assertionMethod[0] })}.${payload}.`,
      `${encode({ alg: 'HS256', kid: document.assertionMethod[0] })}.${payload}.${signature}`,
      `${encode({ alg: 'ES256', kid: 'did:web:evil.example#x' })}.${payload}.${signature}`,
      `${encode({ alg: 'ES256' })}.${payload}.${signature}`,
      `${header}.${payload}.${signature}.${signature}`,
      `${header}.${payload}.${Buffer.alloc(64).toString('base64url')}`,
      `${header}.${payload}=.${signature}`,
    ]
    for (const jws of changed) expect(verdictOf(jws, document), jws).toHaveProperty('fault')
  })

  test('a document of another host, or a key that may not assert, proves nothing', () => {
    const signed = sign(sale)
    expect(verdictOf(signed, { ...document, id: 'did:web:evil.example' })).toHaveProperty('fault')
    expect(verdictOf(signed, { ...document, assertionMethod: [] })).toHaveProperty('fault')
    const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
    const parsed = parseJws(signed)
    if ('fault' in parsed) throw new Error(parsed.fault)
    expect(verifyJws(parsed, createPublicKey(key.export({ format: 'pem', type: 'spki' })))).toHaveProperty(
      'fault',
    )
  })

  test('are found in JSON, in headers and alone, and an access token is not one', () => {
    const signed = sign(sale)
    const response = {
      success: true,
      extensions: { 'offer-receipt': { info: { receipt: { format: 'jws', signature: signed } } } },
    }
    const header = Buffer.from(JSON.stringify(response)).toString('base64')
    expect(findJws(` ${signed}\n`)).toEqual([signed])
    expect(findJws(JSON.stringify({ receipt: signed, refundReceipt: sign(refund) }))).toHaveLength(2)
    expect(findJws(JSON.stringify(response))).toEqual([signed])
    expect(findJws(header)).toEqual([signed])
    expect(findJws(`HTTP/1.1 200 OK\r\npayment-response: ${header}\r\n\r\n{}`)).toEqual([signed])
    expect(findJws(JSON.stringify({ accessToken: signed }))).toEqual([])
    expect(findJws('nothing')).toEqual([])
  })
})

test('did:web of a base URL, and where its document is', () => {
  expect(didOf('http://localhost:3000')).toBe('did:web:localhost%3A3000')
  expect(String(documentUrlOf('did:web:localhost%3A3000'))).toBe('http://localhost:3000/.well-known/did.json')
  expect(String(documentUrlOf(didOf(BASE_URL)))).toBe('https://shop.example:8443/pay/did.json')
  for (const did of [
    'did:web:evil.example%2Fx',
    'did:web:user%40evil.example',
    'did:web:a.example:..:x',
    'did:web:a.example:%2e%2e',
    'did:web:a.example%3Fq',
    'did:key:z6Mk',
    'did:web:%E0%A4%A',
    'did:web:localhost.evil.example%23',
  ]) {
    expect(documentUrlOf(did), did).toBeUndefined()
  }
  expect(documentUrlOf('did:web:localhost.evil.example')?.protocol).toBe('https:')
})
