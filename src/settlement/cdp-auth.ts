import { createPrivateKey, type KeyObject, randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import { ConfigError } from '../errors.ts'

const LIFETIME_SECONDS = 120

/**
 * Auth headers for Coinbase's facilitator: a bearer JWT per endpoint, good for two minutes and for that method,
 * host and path only. The secret is an Ed25519 key (base64 of 64 bytes) or an EC P-256 key (PEM).
 *
 * @example
 * const url = 'https://api.cdp.coinbase.com/platform/v2/x402'
 * const createAuthHeaders = createCdpAuthHeaders({ url, apiKeyId: '…', apiKeySecret: '…' })
 * const { verify, settle } = await createAuthHeaders()
 */
export function createCdpAuthHeaders({
  url,
  apiKeyId,
  apiKeySecret,
}: {
  url: string
  apiKeyId: string
  apiKeySecret: string
}): () => Promise<Record<'verify' | 'settle' | 'supported', { Authorization: string }>> {
  const { key, alg } = readKey(apiKeySecret)
  const { host, pathname } = new URL(url)
  const base = host + pathname.replace(/\/+$/, '')

  async function header(method: 'GET' | 'POST', endpoint: string) {
    const now = Math.floor(Date.now() / 1000)
    const jwt = await new SignJWT({ uris: [`${method} ${base}/${endpoint}`] })
      .setProtectedHeader({ alg, kid: apiKeyId, typ: 'JWT', nonce: randomBytes(16).toString('hex') })
      .setIssuer('cdp')
      .setSubject(apiKeyId)
      .setAudience(['cdp_service'])
      .setIssuedAt(now)
      .setNotBefore(now)
      .setExpirationTime(now + LIFETIME_SECONDS)
      .sign(key)
    return { Authorization: `Bearer ${jwt}` }
  }

  return async () => {
    const [verify, settle, supported] = await Promise.all([
      header('POST', 'verify'),
      header('POST', 'settle'),
      header('GET', 'supported'),
    ])
    return { verify, settle, supported }
  }
}

function readKey(secret: string): { key: KeyObject; alg: 'EdDSA' | 'ES256' } {
  try {
    if (secret.includes('-----BEGIN')) {
      // Environment files often carry the line breaks as the two characters \n.
      const key = createPrivateKey(secret.replaceAll('\\n', '\n'))
      const { asymmetricKeyType, asymmetricKeyDetails } = key
      if (asymmetricKeyType === 'ed25519') return { key, alg: 'EdDSA' }
      if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1')
        return { key, alg: 'ES256' }
    } else {
      const bytes = Buffer.from(secret, 'base64')
      if (bytes.length === 64) {
        const [d, x] = [bytes.subarray(0, 32), bytes.subarray(32)].map((part) => part.toString('base64url'))
        const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' })
        return { key, alg: 'EdDSA' }
      }
    }
  } catch {
    // The parser's message could quote the key; ours must not.
  }
  throw new ConfigError([
    'CDP_API_KEY_SECRET is no CDP key; it is the base64 of 64 bytes (Ed25519) or a PEM "EC PRIVATE KEY" (P-256).',
  ])
}
