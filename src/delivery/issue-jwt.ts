import { createHmac, type KeyObject, sign as signWithKey } from 'node:crypto'
import { promisify } from 'node:util'
import type { Delivery, Order } from '../ports.ts'
import type { Plan } from '../protocol/catalog.ts'
import { type AccessClaims, AccessClaimsSchema } from './access-claims.ts'
import { buildGrant, type GrantPlaces, planOnlyFault, resourceEndpointOf } from './grant.ts'
import type { TokenKeys } from './token-keys.ts'

export interface JwtDeliveryConfig {
  keys: TokenKeys
  /** The gateway's base URL. */
  issuer: string
  tokenTtlSeconds: number
  plans: ReadonlyArray<Pick<Plan, 'planId' | 'tokenTtlSeconds'>>
  places: GrantPlaces
}

/**
 * The built-in credential. Only its claims are stored, never the token: the token is signed again whenever the buyer asks
 * for it. Both algorithms are deterministic, so it is the same text until a key is rotated.
 */
export function createJwtDelivery(config: JwtDeliveryConfig): Delivery {
  return {
    instant: true,

    async deliver(order) {
      const fault = planOnlyFault(order)
      if (fault) return { kind: 'failed', reason: fault }
      const claims = claimsFor(order, config)
      return { kind: 'delivered', sealed: JSON.stringify(claims), expiresAt: claims.exp * 1000 }
    },

    async open(order, sealed) {
      const claims = storedClaims(order, sealed) ?? claimsFor(order, config)
      const accessToken = await sign(claims, config.keys)
      const expiresAt = new Date(claims.exp * 1000).toISOString()
      return buildGrant(order, { accessToken, expiresAt, resourceEndpoint: claims.aud }, config.places)
    },

    expiryOf: (order, sealed) => (storedClaims(order, sealed) ?? claimsFor(order, config)).exp * 1000,
  }
}

/** Depends on the order only, so that a delivery repeated after a crash has the same claims. */
function claimsFor(order: Order, config: JwtDeliveryConfig): AccessClaims {
  const plan = config.plans.find(({ planId }) => planId === order.itemId)
  const iat = Math.floor(order.paidAt / 1000)
  const { accessEndsAt } = order
  return {
    iss: config.issuer,
    sub: order.payer,
    walletAddress: order.payer,
    aud: resourceEndpointOf(config.places.resourceEndpoint, order.resourceId),
    jti: order.challengeId,
    planId: order.itemId,
    resourceId: order.resourceId,
    txHash: order.txHash,
    iat,
    exp:
      accessEndsAt === undefined
        ? iat + (plan?.tokenTtlSeconds ?? config.tokenTtlSeconds)
        : Math.floor(accessEndsAt / 1000),
  }
}

/** `undefined` if another credential step sealed it: the seller has switched to JWTs since, so a JWT is delivered now. */
function storedClaims(order: Order, sealed: string): AccessClaims | undefined {
  try {
    const claims = AccessClaimsSchema.parse(JSON.parse(sealed))
    return claims.jti === order.challengeId ? claims : undefined
  } catch {
    return undefined
  }
}

/** RFC 7515, compact. The HMAC is computed synchronously: in the thread pool it would take ten times as long. */
async function sign(claims: AccessClaims, keys: TokenKeys): Promise<string> {
  if (keys.alg === 'HS256') {
    const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
    return `${text}.${createHmac('sha256', keys.secret).update(text).digest('base64url')}`
  }
  const text = `${encode({ alg: 'RS256', typ: 'JWT', kid: keys.keys[0].kid })}.${encode(claims)}`
  const signature = await signRsa('RSA-SHA256', Buffer.from(text), keys.privateKey)
  return `${text}.${signature.toString('base64url')}`
}

const signRsa: (algorithm: string, data: Buffer, key: KeyObject) => Promise<Buffer> = promisify(signWithKey)

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
