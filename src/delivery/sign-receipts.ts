import { sign as signWithKey } from 'node:crypto'
import type { ReceiptSigner } from '../ports.ts'
import { type DidDocument, didOf } from '../receipts/did-web.ts'
import type { ReceiptKeys } from './receipt-keys.ts'

/** RFC 7515, compact, with ES256 over canonical JSON (RFC 8785). Signed at once: the thread pool would take longer. */
export function createReceiptSigner({ privateKey, keys }: ReceiptKeys, baseUrl: string): ReceiptSigner {
  const kid = `${didOf(baseUrl)}#${keys[0].thumbprint}`
  const header = Buffer.from(JSON.stringify({ alg: 'ES256', kid })).toString('base64url')
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
  return {
    sign(statement) {
      const sorted = Object.entries(statement).sort(([one], [other]) => (one < other ? -1 : 1))
      const payload = Buffer.from(JSON.stringify(Object.fromEntries(sorted))).toString('base64url')
      const text = `${header}.${payload}`
      return `${text}.${signWithKey('sha256', Buffer.from(text), key).toString('base64url')}`
    },
  }
}

/** Every key with which a receipt of this gateway may be signed. Has public members only. */
export function didDocument({ keys }: ReceiptKeys, baseUrl: string): DidDocument {
  const id = didOf(baseUrl)
  const methods = keys.map(({ thumbprint, jwk }) => ({
    id: `${id}#${thumbprint}`,
    type: 'JsonWebKey2020',
    controller: id,
    publicKeyJwk: jwk,
  }))
  return {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
    id,
    verificationMethod: methods,
    assertionMethod: methods.map((method) => method.id),
  }
}
