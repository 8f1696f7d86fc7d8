import type { TokenKeys } from './token-keys.ts'

export interface Jwks {
  keys: Array<{ kty: 'RSA'; n: string; e: string; kid: string; alg: 'RS256'; use: 'sig' }>
}

/** `/.well-known/jwks.json`: every key with which a valid token may be signed. `undefined` for HS256, which has no public key. */
export function publicJwks(keys: TokenKeys): Jwks | undefined {
  if (keys.alg !== 'RS256') return undefined
  // Copies only the public members, so that a private one is never published.
  return { keys: keys.keys.map(({ kid, jwk }) => ({ ...jwk, kid, alg: 'RS256', use: 'sig' })) }
}
