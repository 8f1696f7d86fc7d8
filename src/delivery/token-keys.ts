import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { ConfigError } from '../errors.ts'
import { pemBlocks } from './pem-blocks.ts'

export interface RsaKey {
  /** RFC 7638 thumbprint: the same key has the same id everywhere, and a new key a new one. */
  kid: string
  publicKey: KeyObject
  jwk: { kty: 'RSA'; n: string; e: string }
}

/** One algorithm per gateway, chosen by its configuration and never by a token. */
export type TokenKeys =
  | { alg: 'HS256'; secret: Uint8Array }
  | { alg: 'RS256'; privateKey: KeyObject; keys: [RsaKey, ...RsaKey[]] }

const MIN_SECRET_BYTES = 32
const MIN_RSA_BITS = 2048

/** HS256: everybody who can verify can also sign, so only the gateway and the backend may know the secret. */
export function sharedSecretKeys(secret: string, name = 'tokenSecret'): TokenKeys {
  const bytes = new TextEncoder().encode(secret)
  if (bytes.length < MIN_SECRET_BYTES) {
    throw new ConfigError([
      `${name} has ${bytes.length} bytes; HS256 needs at least ${MIN_SECRET_BYTES}, for example the output of: openssl rand -hex 32`,
    ])
  }
  return { alg: 'HS256', secret: bytes }
}

/**
 * RS256 from one or more PEM blocks. The first is a private key and signs; the others, private or public, are older keys,
 * which are still published and accepted.
 */
export function rsaKeys(pem: string, name = 'tokenPrivateKey'): TokenKeys {
  const blocks = pemBlocks(pem)
  const [first, ...rest] = blocks.map((block, index) => readPublic(block, `${name} (key ${index + 1})`))
  const privateKey = readPrivate(blocks[0])
  if (!first || !privateKey) {
    throw new ConfigError([
      `${name} does not begin with an unencrypted RSA private key in PEM, for example the output of: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048`,
    ])
  }
  return { alg: 'RS256', privateKey, keys: [first, ...rest] }
}

function readPrivate(pem: string | undefined): KeyObject | undefined {
  try {
    return pem === undefined ? undefined : createPrivateKey(pem)
  } catch {
    return undefined
  }
}

function readPublic(pem: string, where: string): RsaKey {
  let publicKey: KeyObject
  try {
    publicKey = createPublicKey(pem)
  } catch {
    throw new ConfigError([
      `${where} cannot be read as a PEM key; copy it whole, with its BEGIN and END lines.`,
    ])
  }
  const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 0
  if (publicKey.asymmetricKeyType !== 'rsa' || bits < MIN_RSA_BITS) {
    const found =
      publicKey.asymmetricKeyType === 'rsa'
        ? `an RSA key of ${bits} bits`
        : `of type ${publicKey.asymmetricKeyType}`
    throw new ConfigError([`${where} is ${found}; RS256 needs an RSA key of at least ${MIN_RSA_BITS} bits.`])
  }
  const { n, e } = publicKey.export({ format: 'jwk' }) as { n: string; e: string }
  // RFC 7638: exactly these members, in this order.
  const kid = createHash('sha256')
    .update(JSON.stringify({ e, kty: 'RSA', n }))
    .digest('base64url')
  return { kid, publicKey, jwk: { kty: 'RSA', n, e } }
}
