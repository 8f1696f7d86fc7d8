import { SIGN_IN_WITH_X } from '../../dialects/siwx/read-proof.ts'
import type { PrepaidIntent } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { DEFAULT_RESOURCE_ID } from '../../protocol/access.ts'
import { headerOf } from './native-request.ts'
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

/** Who spends, or why nobody; undefined: the request brings neither a token nor a sign-in. */
export type ReadSpender = (request: Request, path: string) => Promise<Spending | GatewayError> | undefined

const BEARER = /^Bearer /i
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

  async function byWallet(proof: string, path: string, from: Pick<SignIn, 'wallet'>) {
    const wallet = await from.wallet(proof, path)
    return wallet instanceof GatewayError ? wallet : { ...wallet, resourceId: DEFAULT_RESOURCE_ID }
  }

  return (request, path) => {
    const authorization = headerOf(request, 'authorization')
    if (authorization !== null && BEARER.test(authorization)) return byToken(authorization)
    const proof = signIn && headerOf(request, SIGN_IN_WITH_X)
    return proof ? byWallet(proof, path, signIn) : undefined
  }
}
