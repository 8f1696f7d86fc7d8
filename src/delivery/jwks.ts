import type { TokenKeys } from './token-keys.ts'

export interface Jwks {
  keys: Array<{ kty: 'RSA'; n: string; e: string; kid: string; alg: 'RS256'; use: 'sig' }>
}

/** `/.well-known/jwks.json`: every key that a live token may carry. `undefined` for HS256, which has nothing to publish. */
export function publicJwks(keys: TokenKeys): Jwks | undefined {
  if (keys.alg !== 'RS256') return undefined
  // Only the public members are copied: a private one can never slip out here.
  return { keys: keys.keys.map(({ kid, jwk }) => ({ ...jwk, kid, alg: 'RS256', use: 'sig' })) }
}
