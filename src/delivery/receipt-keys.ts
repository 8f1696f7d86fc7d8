import { createECDH, createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { ConfigError } from '../errors.ts'
import type { PublicJwk } from '../receipts/did-web.ts'
import { pemBlocks } from './pem-blocks.ts'

/** A public key that verifies receipts. */
export interface ReceiptKey {
  /** RFC 7638 thumbprint: the same key has the same id everywhere, and a new key a new one. */
  thumbprint: string
  jwk: PublicJwk
}

/** The private key signs new receipts; `keys` are all that are published, its own first. */
export interface ReceiptKeys {
  privateKey: KeyObject
  keys: [ReceiptKey, ...ReceiptKey[]]
}

/** The order of P-256: a private key is a number from 1 to this one, exclusive. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/**
 * A private key made from the bytes of a key derivation. Bytes that are no private key are passed over, as FIPS 186-5 (A.2.2)
 * does with random ones; that happens once in four billion times.
 */
export function privateKeyFrom(bytesOf: (attempt: number) => Uint8Array): KeyObject {
  for (let attempt = 0; ; attempt++) {
    const bytes = Buffer.from(bytesOf(attempt))
    const scalar = BigInt(`0x${bytes.toString('hex')}`)
    if (scalar === 0n || scalar >= ORDER) continue
    const curve = createECDH('prime256v1')
    curve.setPrivateKey(bytes)
    // Uncompressed: one byte, then both coordinates.
    const point = curve.getPublicKey()
    const text = (part: Buffer): string => part.toString('base64url')
    const [x, y] = [text(point.subarray(1, 33)), text(point.subarray(33))]
    return createPrivateKey({
      key: { kty: 'EC', crv: 'P-256', d: text(bytes), x, y },
      format: 'jwk',
    })
  }
}

/**
 * The keys of receipts: the configured PEM blocks, of which the first signs, and otherwise those that follow from the secret
 * keys. The latter stay published beside a PEM, so that receipts which they signed can still be verified.
 */
export function receiptKeys(
  derived: readonly KeyObject[],
  pem: string | null,
  name = 'receiptPrivateKey',
): ReceiptKeys {
  const given = pemBlocks(pem ?? '').map((block, index) =>
    readPem(block, index === 0, `${name} (key ${index + 1})`),
  )
  const [signs, ...others] = [...given, ...derived]
  if (signs?.type !== 'private') throw new ConfigError([`${name} holds no private key in PEM.`])
  const all = [publicPart(signs), ...others.map(publicPart)]
  const known = all.filter(
    ({ thumbprint }, index) => all.findIndex((other) => other.thumbprint === thumbprint) === index,
  )
  return { privateKey: signs, keys: known as ReceiptKeys['keys'] }
}

function readPem(block: string, signs: boolean, where: string): KeyObject {
  let key: KeyObject
  try {
    key = signs ? createPrivateKey(block) : createPublicKey(block)
  } catch {
    throw new ConfigError([`${where} cannot be read as a PEM key; copy it whole, unencrypted.`])
  }
  if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key
  throw new ConfigError([`${where} is of type ${key.asymmetricKeyType}; ES256 needs a key on P-256.`])
}

function publicPart(key: KeyObject): ReceiptKey {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key
  const { x, y } = publicKey.export({ format: 'jwk' }) as { x: string; y: string }
  // RFC 7638: exactly these members, in this order.
  const thumbprint = createHash('sha256')
    .update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }))
    .digest('base64url')
  return { thumbprint, jwk: { kty: 'EC', crv: 'P-256', x, y } }
}
