import type { CallToolResult } from '@modelcontextprotocol/server'
import { SIGN_IN_WITH_X } from '../../dialects/siwx/read-proof.ts'
import type { Intent, Outcome } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { EndpointContext } from '../http/endpoint.ts'

/** Sign-in-with-x over MCP: proof and offer are in `_meta`, under the extension's name; `uri` is that of `/mcp`. */
export interface ToolSignIn {
  /** The outcome of a call that brings a proof: what the wallet owns, or why not. Undefined: it may buy. */
  outcomeOf(meta: Record<string, unknown> | undefined, asked: Intent): Promise<Outcome | undefined>
  /** The same result; one that asks for a payment where a wallet may sign in also says what to sign instead. */
  offering(outcome: Outcome, result: CallToolResult): CallToolResult
}

/** `takesCredits`: the route can be called by a wallet that holds credits. */
export function createToolSignIn(
  { signIn, basePath }: Pick<EndpointContext, 'signIn' | 'basePath'>,
  takesCredits: (routeId: string) => boolean,
): ToolSignIn {
  const path = `${basePath}/mcp`
  return {
    async outcomeOf(meta, { planId, resourceId }) {
      const proof = meta?.[SIGN_IN_WITH_X]
      if (!signIn || proof === undefined || planId === undefined) return undefined
      const found = await signIn.fetchAgain(proof, path, { planId, resourceId }, true)
      return found instanceof GatewayError ? { kind: 'failed', error: found } : found
    },
    offering(outcome, result) {
      const offer = outcome.kind === 'challenge' || outcome.kind === 'failed' ? outcome.offer : undefined
      const mayBeOwned =
        offer?.kind === 'plan' ? outcome.kind === 'challenge' : offer && takesCredits(offer.itemId)
      if (!signIn || !mayBeOwned) return result
      return { ...result, _meta: { ...result._meta, ...signIn.offer(path) } }
    },
  }
}
