import { errors, type JWTVerifyOptions, jwtVerify } from 'jose'
import { GatewayError } from '../errors.ts'
import { optionFaults } from '../protocol/option-faults.ts'
import { type AccessClaims, AccessClaimsSchema } from './access-claims.ts'
import { resourceEndpointOf } from './grant.ts'
import type { TokenKeys } from './token-keys.ts'

export interface VerifyBearerConfig {
  keys: TokenKeys
  /** The gateway's base URL. */
  issuer: string
  /** The template from which the audience of tokens is made. */
  resourceEndpoint: string
  /** Milliseconds; the system's clock by default. */
  now?: () => number
}

/** The resource of the protected route. A token for another resource is refused. */
export interface ExpectedAccess {
  resourceId?: string
  planId?: string
}

/** What a bearer may do: the claims of its token, or the 401 that says why not. */
export type Verified = { ok: true; claims: AccessClaims } | { ok: false; error: GatewayError }

/**
 * Checks the token of an `Authorization` header, or of a request that has one.
 *
 * @example
 * async function serve(request: Request, verifyBearer: VerifyBearer): Promise<Response> {
 *   const verified = await verifyBearer(request, { resourceId: 'weather' })
 *   if (!verified.ok) return Response.json(verified.error.toBody(), { status: 401 })
 *   return Response.json({ for: verified.claims.walletAddress })
 * }
 */
export type VerifyBearer = (
  authorization: string | null | undefined | Request,
  expected?: ExpectedAccess,
) => Promise<Verified>

const EXPECTED = Object.keys({ resourceId: true, planId: true } satisfies Record<keyof ExpectedAccess, true>)
const MAX_TOKEN_CHARACTERS = 8192

/**
 * Checks the bearer token of a built-in JWT. The algorithm and the keys come from configuration, never from the
 * token: `alg: none` and an HS256 token signed with the public RSA key both fail.
 */
export function createVerifyBearer({
  keys,
  issuer,
  resourceEndpoint,
  now = Date.now,
}: VerifyBearerConfig): VerifyBearer {
  return async (authorization, expected = {}) => {
    // Ignored, a misspelt resourceId would let in whoever has a token for any other.
    const [fault] = optionFaults(expected, EXPECTED)
    if (fault !== undefined) throw new GatewayError('INVALID_REQUEST', `verifyBearer: ${fault}`)
    const header = headerOf(authorization)
    if (!header) return refused('No bearer token: send it as Authorization: Bearer <accessToken>.')
    const token = bearerToken(header)
    if (token === undefined) {
      const how = 'send the accessToken of the grant, unchanged, as Authorization: Bearer <accessToken>'
      return refused(`The Authorization header holds no token of this kind (a JWT); ${how}.`)
    }
    const claims = await verifySignature(token, keys, { issuer, currentDate: new Date(now()) })
    if (typeof claims === 'string') return refused(claims)
    // This checks the audience of the token's own resource; the resource is compared below, since a template may lack {resourceId}.
    if (claims.aud !== resourceEndpointOf(resourceEndpoint, claims.resourceId)) {
      return refused('The token was issued for another service.')
    }
    if (expected.resourceId !== undefined && claims.resourceId !== expected.resourceId) {
      return refused('The token was issued for another resource; buy access to this one.')
    }
    if (expected.planId !== undefined && claims.planId !== expected.planId) {
      return refused('The token was issued for another plan; buy the plan that covers this resource.')
    }
    return { ok: true, claims }
  }
}

/** The claims, or the reason why the token is refused. */
async function verifySignature(
  token: string,
  keys: TokenKeys,
  options: JWTVerifyOptions,
): Promise<AccessClaims | string> {
  const pinned = { ...options, algorithms: [keys.alg], requiredClaims: ['exp', 'iss', 'aud', 'sub', 'jti'] }
  try {
    const { payload } =
      keys.alg === 'HS256'
        ? await jwtVerify(token, keys.secret, pinned)
        : await jwtVerify(token, ({ kid }) => publicKeyOf(keys, kid), pinned)
    const claims = AccessClaimsSchema.safeParse(payload)
    return claims.success ? claims.data : 'The token lacks a claim of an access token.'
  } catch (error) {
    if (error instanceof errors.JWTExpired)
      return `The token expired at ${isoSeconds(error.payload.exp)}; buy access again.`
    if (error instanceof errors.JWTClaimValidationFailed)
      return `The token's claim "${error.claim}" is missing or wrong.`
    // All other faults (form, algorithm, key, signature) have one message: details would only help a forger.
    return 'The token was not issued by this gateway.'
  }
}

function publicKeyOf(keys: TokenKeys & { alg: 'RS256' }, kid: string | undefined) {
  const key = keys.keys.find((candidate) => candidate.kid === kid)
  if (!key) throw new errors.JWKSNoMatchingKey()
  return key.publicKey
}

function headerOf(authorization: string | null | undefined | Request): string | null | undefined {
  return typeof authorization === 'object' ? authorization?.headers.get('authorization') : authorization
}

function bearerToken(header: string): string | undefined {
  if (header.length > MAX_TOKEN_CHARACTERS) return undefined
  return /^Bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*)$/i.exec(header.trim())?.[1]
}

function isoSeconds(seconds: number | undefined): string {
  return seconds === undefined ? 'an unknown time' : new Date(seconds * 1000).toISOString()
}

function refused(message: string): Verified {
  return { ok: false, error: new GatewayError('UNAUTHORIZED', message) }
}
