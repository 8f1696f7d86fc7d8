import type { ResolvedConfig } from '../config/resolved-config.ts'
import type { AccessClaims } from '../delivery/access-claims.ts'
import type { VerifyBearer } from '../delivery/verify-bearer.ts'
import { createSiwx, type Siwx } from '../dialects/siwx/create-siwx.ts'
import type { Engine } from '../engine/outcome.ts'
import type { Random } from '../ports.ts'
import type { AddressLimits } from '../transports/http/admit.ts'
import { createSignIn, type SignIn } from '../transports/http/sign-in.ts'
import { createVerifyAccess } from '../transports/http/verify-access.ts'

interface Parts {
  engine: Engine
  verifyBearer: VerifyBearer
  /** Those that grant credits, or once did: their purchases may be closed before their tokens expire. */
  creditPlans: readonly string[]
  /** The gateway signs the tokens of plans itself. */
  signsTokens: boolean
  random: Random
  now(): number
  limits: Pick<AddressLimits, 'rateLimit'>
  onError(error: unknown): void
}

/** Sign-in-with-x: what a wallet owns, at `/x402/access`, over MCP, and where tokens are checked. */
export function buildSignIn(
  config: Pick<ResolvedConfig, 'baseUrl' | 'networks'>,
  { engine, verifyBearer, creditPlans, signsTokens, random, now, limits, onError }: Parts,
): {
  siwx: Siwx
  signIn: SignIn
  verifyAccess: ReturnType<typeof createVerifyAccess<AccessClaims>>
} {
  const networks = config.networks.map(({ network }) => network.id)
  const siwx = createSiwx({ baseUrl: config.baseUrl, networks, now, random })
  const signIn = createSignIn(engine, siwx)
  const verifyAccess = createVerifyAccess<AccessClaims>({
    verifyBearer: (authorization, { planId, resourceId }) =>
      verifyBearer(authorization, {
        ...(planId !== undefined && { planId }),
        ...(resourceId !== undefined && { resourceId }),
      }),
    whyEnded: async ({ planId, jti }) => (creditPlans.includes(planId) ? engine.whyEnded(jti) : undefined),
    ...(signsTokens && { signIn }),
    ...limits,
    onError,
  })
  return { siwx, signIn, verifyAccess }
}
