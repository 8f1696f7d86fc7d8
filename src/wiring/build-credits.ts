import type { ResolvedConfig } from '../config/resolved-config.ts'
import type { VerifyBearer } from '../delivery/verify-bearer.ts'
import type { Engine } from '../engine/outcome.ts'
import type { Credits } from '../transports/http/endpoint.ts'
import { createSpenderReader } from '../transports/http/read-spender.ts'
import type { SignIn } from '../transports/http/sign-in.ts'

interface Parts {
  engine: Pick<Engine, 'spend' | 'balance'>
  /** Plans that no longer grant credits, and of which some were bought before. */
  formerPlans: readonly string[]
  verifyBearer: VerifyBearer
  /** The gateway signs the tokens of plans itself. */
  signsTokens: boolean
  signIn: SignIn
  now(): number
}

/** Undefined: no plan grants credits or once did, or tokens cannot be checked. */
export function buildCredits(
  { plans }: Pick<ResolvedConfig, 'plans'>,
  { engine, formerPlans, verifyBearer, signsTokens, signIn, now }: Parts,
): Credits | undefined {
  const planIds = [...creditPlans(plans), ...formerPlans]
  if (planIds.length === 0 || !signsTokens) return undefined
  const { spend, balance } = engine
  return { spend, balance, planIds, readSpender: createSpenderReader(verifyBearer, signIn, now) }
}

/** Those that grant credits now. */
export function creditPlans(plans: ResolvedConfig['plans']): string[] {
  return plans.flatMap(({ planId, credits }) => (credits === undefined ? [] : planId))
}
