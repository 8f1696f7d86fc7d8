import type { PrepaidIntent } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { DEFAULT_RESOURCE_ID } from '../../protocol/access.ts'
import { IdString } from '../../protocol/catalog.ts'
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
  /** The resource whose credits a wallet that signs in spends; a token names its own. Default: `default`. */
  resourceId?: unknown
}

/** Who spends, or why nobody; undefined: the request brings neither a token nor a sign-in. `path`: where it was sent. */
export type ReadSpender = (head: SpenderHead, path: string) => Promise<Spending | GatewayError> | undefined

/** The request header in which a wallet that signs in names the resource whose credits it spends. */
export const RESOURCE_ID_HEADER = 'x-svc-resource-id'

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
    // By the token itself, and only where it is written plainly: blanks and case would make many entries of one.
    const token = /^Bearer (\S+)$/i.exec(authorization)?.[1]
    const found = token === undefined ? undefined : known.get(token)
    if (found && now() < found.endsAt) return found.spender
    const verified = await verifyBearer(authorization)
    if (!verified.ok) return verified.error
    const { sub, planId, resourceId, jti, exp } = verified.claims
    const spender = { account: sub.toLowerCase(), planId, resourceId, purchase: jti }
    if (token === undefined) return spender
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(token, { spender, endsAt: exp * 1000 })
    return spender
  }

  async function byWallet(
    { proof, resourceId }: SpenderHead,
    path: string,
    from: Pick<SignIn, 'wallet'>,
  ): Promise<Spending | GatewayError> {
    // Before the proof is used up.
    const named = IdString.safeParse(resourceId ?? DEFAULT_RESOURCE_ID)
    if (!named.success) {
      return new GatewayError('INVALID_REQUEST', `resourceId ${named.error.issues[0]!.message}.`)
    }
    const wallet = await from.wallet(proof, path)
    return wallet instanceof GatewayError ? wallet : { ...wallet, resourceId: named.data }
  }

  return (head, path) => {
    const { authorization, proof } = head
    if (isBearer(authorization)) return byToken(authorization)
    return signIn && proof !== undefined && proof !== null ? byWallet(head, path, signIn) : undefined
  }
}
