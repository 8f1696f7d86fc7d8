import type { PrepaidIntent } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { DEFAULT_RESOURCE_ID } from '../../protocol/access.ts'
import type { SignIn } from './sign-in.ts'

/** What of a token says whose credits it spends. */
export interface SpenderClaims {
  sub: string
  planId: string
  resourceId: string
  /** The challengeId of the purchase. */
  jti: string
  /** Seconds. */
  exp: number
}

export type Spending = PrepaidIntent['spender']

/** What a request brings to say who spends. */
export interface SpenderHead {
  /** The header of this name. */
  authorization: string | null
  /** A wallet's sign-in: the header's text, or JSON where it travels in a body. */
  proof?: unknown
}

/** Who spends, or why nobody; undefined: the request brings neither a token nor a sign-in. `path`: where it was sent. */
export type ReadSpender = (head: SpenderHead, path: string) => Promise<Spending | GatewayError> | undefined

const BEARER = /^Bearer /i

export const isBearer = (authorization: string | null): authorization is string =>
  authorization !== null && BEARER.test(authorization)

/** Tokens that were checked a moment ago, so that a thousand calls with one token check it once. */
const MAX_KNOWN = 20_000

/** `verifyBearer`: refuses whatever is not a running token of this gateway. */
export function createSpenderReader(
  verifyBearer: (
    authorization: string,
  ) => Promise<{ ok: true; claims: SpenderClaims } | { ok: false; error: GatewayError }>,
  signIn: Pick<SignIn, 'wallet'> | undefined,
  now: () => number,
): ReadSpender {
  const known = new Map<string, { spender: Spending; endsAt: number }>()

  async function byToken(authorization: string): Promise<Spending | GatewayError> {
    const found = known.get(authorization)
    if (found && now() < found.endsAt) return found.spender
    const verified = await verifyBearer(authorization)
    if (!verified.ok) return verified.error
    const { sub, planId, resourceId, jti, exp } = verified.claims
    const spender = { account: sub.toLowerCase(), planId, resourceId, purchase: jti }
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(authorization, { spender, endsAt: exp * 1000 })
    return spender
  }

  async function byWallet(proof: unknown, path: string, from: Pick<SignIn, 'wallet'>) {
    const wallet = await from.wallet(proof, path)
    return wallet instanceof GatewayError ? wallet : { ...wallet, resourceId: DEFAULT_RESOURCE_ID }
  }

  return ({ authorization, proof }, path) => {
    if (isBearer(authorization)) return byToken(authorization)
    return signIn && proof !== undefined && proof !== null ? byWallet(proof, path, signIn) : undefined
  }
}
