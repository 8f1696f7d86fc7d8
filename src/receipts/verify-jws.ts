import { isUtf8 } from 'node:buffer'
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { z } from 'zod'
import type { OfferTerms, RefundReceipt, SaleReceipt } from '../protocol/receipts.ts'

/** A signed text, taken apart. Nothing in it is to be believed yet. */
export interface ParsedJws {
  /** The DID whose document has the key, and the id of that key. */
  did: string
  kid: string
  signed: Buffer
  payload: Buffer
  signature: Buffer
}

export type Verified =
  | { kind: 'receipt'; receipt: SaleReceipt }
  | { kind: 'refund'; receipt: RefundReceipt }
  | { kind: 'offer'; offer: OfferTerms }

const text = z.string().min(1).max(4096)
const seconds = z.number().int().positive().max(253_402_300_799)
const hash = z.string().regex(/^0x[0-9a-f]{64}$/i)
const units = z.string().regex(/^\d{1,78}$/)
const shared = { version: z.literal(1), network: text, resourceUrl: text }
const Sale = z.object({ ...shared, payer: text, issuedAt: seconds, transaction: hash })
const Refund = Sale.extend({ type: z.literal('refund'), asset: text, amount: units, refundTransaction: hash })
const Offered = z.object({
  ...shared,
  scheme: text,
  asset: text,
  payTo: text,
  amount: units,
  validUntil: seconds,
})
const Header = z.object({ alg: z.string(), kid: z.string().max(2048), crit: z.never().optional() })

/** The fault is the end of a sentence. */
export function parseJws(jws: string): ParsedJws | { fault: string } {
  const [head, body, tail, ...rest] = jws.split('.')
  if (head === undefined || body === undefined || tail === undefined || rest.length > 0) {
    return { fault: 'is no compact JWS: it has not three parts' }
  }
  const header = Header.safeParse(jsonOf(bytesOf(head)))
  if (!header.success) return { fault: 'has a header without alg and kid, or with crit' }
  const { alg, kid } = header.data
  if (alg !== 'ES256')
    return { fault: `is signed with ${JSON.stringify(alg.slice(0, 20))}; only ES256 is taken` }
  const did = kid.split('#')[0]!
  if (!/^did:web:[^#]+#[^#]+$/.test(kid)) return { fault: 'has a kid that is no key of a did:web' }
  const [payload, signature] = [bytesOf(body), bytesOf(tail)]
  if (!payload || signature?.length !== 64) return { fault: 'has no signature of ES256' }
  return { did, kid, signed: Buffer.from(`${head}.${body}`), payload, signature }
}

/** Whether this key signed it and, only then, what it says. */
export function verifyJws(parsed: ParsedJws, key: KeyObject): Verified | { fault: string } {
  const { signed, payload, signature } = parsed
  if (!isP256(key)) return { fault: 'names a key that is not on P-256' }
  if (!verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature)) {
    return { fault: 'was not signed with that key, or was changed since' }
  }
  const value = jsonOf(payload)
  const refund = Refund.safeParse(value)
  if (refund.success) return { kind: 'refund', receipt: refund.data }
  const isTyped = typeof value === 'object' && value !== null && 'type' in value
  const sale = Sale.safeParse(value)
  if (sale.success && !isTyped) return { kind: 'receipt', receipt: sale.data }
  const offer = Offered.safeParse(value)
  if (offer.success && !isTyped) return { kind: 'offer', offer: offer.data }
  return { fault: 'is signed by that key, but is neither a receipt nor an offer' }
}

/** The public key with this id in a DID document; undefined if it has none, or one that may not sign statements. */
export function keyIn(document: unknown, { did, kid }: ParsedJws): KeyObject | undefined {
  const found = Document.safeParse(document)
  if (!found.success || found.data.id !== did || !found.data.assertionMethod.includes(kid)) return undefined
  const method = found.data.verificationMethod.find(({ id }) => id === kid)
  if (!method) return undefined
  try {
    return createPublicKey({ key: method.publicKeyJwk, format: 'jwk' })
  } catch {
    return undefined
  }
}

const Document = z.object({
  id: z.string(),
  verificationMethod: z
    .array(
      z.object({
        id: z.string(),
        publicKeyJwk: z.object({
          kty: z.literal('EC'),
          crv: z.literal('P-256'),
          x: z.string(),
          y: z.string(),
        }),
      }),
    )
    .max(100),
  assertionMethod: z.array(z.string()).max(100),
})

export const isP256 = (key: KeyObject): boolean => key.asymmetricKeyDetails?.namedCurve === 'prime256v1'

/** Canonical base64url only: otherwise one signature would have several spellings. */
function bytesOf(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url')
  return part !== '' && bytes.toString('base64url') === part ? bytes : undefined
}

function jsonOf(bytes: Buffer | undefined): unknown {
  if (!bytes || !isUtf8(bytes)) return undefined
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
