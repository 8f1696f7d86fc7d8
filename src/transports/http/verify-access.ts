import { SIGN_IN_WITH_X } from '../../dialects/siwx/read-proof.ts'
import type { OwnedAccess } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { optionFaults } from '../../protocol/option-faults.ts'
import type { AddressLimits } from './admit.ts'
import { requestTarget } from './request-target.ts'
import { type Peer, publicFault } from './safeguards.ts'
import type { SignIn } from './sign-in.ts'

/** As much of a request as says who may enter. Every Fetch request is one. */
export interface AccessHead {
  /** With path and query; scheme and host are not looked at. */
  url: string
  headers: { get(name: string): string | null }
}

const EXPECTED = Object.keys({ planId: true, resourceId: true } satisfies Record<keyof OwnedAccess, true>)

/** Who may enter, by the claims of a token; or the error that says why not. `extensions`: how a wallet signs in here. */
export type VerifiedAccess<Claims> =
  | { ok: true; claims: Claims }
  | { ok: false; error: GatewayError; extensions?: Record<string, unknown> }

/**
 * Says whether a request may use what was bought: it brings a token, or instead a wallet's sign-in for this very address.
 * Both come to the same: a sign-in fetches the token of the purchase, and that token is checked like any other.
 */
export function createVerifyAccess<Claims>({
  verifyBearer,
  whyEnded,
  signIn,
  rateLimit,
  onError,
}: {
  verifyBearer(authorization: string | null, expected: OwnedAccess): Promise<VerifiedAccess<Claims>>
  /** Why the purchase of a good token grants nothing any more. */
  whyEnded(claims: Claims): Promise<GatewayError | undefined>
  /** Absent: the gateway does not sign the tokens itself, and so cannot say what they open. */
  signIn?: SignIn | undefined
  rateLimit?: AddressLimits['rateLimit']
  onError?(error: unknown): void
}) {
  async function verify(authorization: string | null, expected: OwnedAccess) {
    const verified = await verifyBearer(authorization, expected)
    const ended = verified.ok ? await whyEnded(verified.claims) : undefined
    return ended ? { ok: false as const, error: ended } : verified
  }

  async function claimsOf(signedIn: SignIn, proof: string, path: string, expected: OwnedAccess) {
    const found = await signedIn.fetchAgain(proof, path, expected)
    if (found instanceof GatewayError) return { ok: false as const, error: found }
    if (found) return verifyBearer(`Bearer ${found.grant.accessToken}`, expected)
    const message = 'This wallet owns no running access to this resource; buy it, or bring its token.'
    return { ok: false as const, error: new GatewayError('UNAUTHORIZED', message) }
  }

  async function enter(request: AccessHead, expected: OwnedAccess, { address }: Peer) {
    const authorization = request.headers.get('authorization')
    const proof = request.headers.get(SIGN_IN_WITH_X)
    if (!signIn) return verify(authorization, expected)
    const [path = ''] = requestTarget(request).split('?')
    const offering = (verified: VerifiedAccess<Claims>): VerifiedAccess<Claims> =>
      verified.ok ? verified : { ...verified, extensions: signIn.offer(path) }
    if (authorization !== null || proof === null) return offering(await verify(authorization, expected))
    // A proof costs more to check than a token, and its sender nothing: it counts as a request without payment.
    const verdict = address === undefined ? undefined : rateLimit?.(address)
    if (verdict && !verdict.ok) {
      const { retryAfterSeconds } = verdict
      const message = `too many sign-ins from this address; wait ${retryAfterSeconds} s`
      return { ok: false as const, error: new GatewayError('RATE_LIMITED', message, { retryAfterSeconds }) }
    }
    return offering(await claimsOf(signIn, proof, path, expected))
  }

  return async (
    request: AccessHead,
    expected: OwnedAccess = {},
    peer: Peer = {},
  ): Promise<VerifiedAccess<Claims>> => {
    const [fault] = optionFaults(expected, EXPECTED)
    if (fault !== undefined) throw new GatewayError('INVALID_REQUEST', `verifyAccess: ${fault}`)
    try {
      return await enter(request, expected, peer)
    } catch (error) {
      onError?.(error)
      return { ok: false, error: publicFault(error) }
    }
  }
}
