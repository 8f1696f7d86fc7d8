import type { CallToolResult } from '@modelcontextprotocol/server'
import { SIGN_IN_WITH_X } from '../../dialects/siwx/read-proof.ts'
import type { Intent, Outcome, PrepaidOutcome } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { EndpointContext } from '../http/endpoint.ts'
import { isBearer, type Spending } from '../http/read-spender.ts'
import type { RpcMessage } from './parse-message.ts'
import { textResult } from './render-result.ts'
import type { McpTool } from './tool.ts'

/** What was debited, in `_meta` of a result. */
const CREDITS_KEY = 'paystile/credits'
/** The resource whose credits a wallet that signs in spends, in `_meta` of a call. */
const RESOURCE_ID_KEY = 'paystile/resource-id'

type Failed = Extract<Outcome, { kind: 'failed' }>
type Meta = Record<string, unknown> | undefined

/** Calls of route tools by those who hold credits: the token is that of the HTTP request, a sign-in is in `_meta`. */
export interface ToolSpending {
  /** Whose token the HTTP request of a call brings, if the tool takes credits. */
  bearerOf(message: RpcMessage, authorization: string | null): Promise<Spending | GatewayError> | undefined
  /** The result of a call that is debited, or why it was not made; undefined: the caller may pay. */
  resultOf(
    bearer: Spending | GatewayError | undefined,
    meta: Meta,
    asked: Intent,
  ): Promise<CallToolResult | Failed | undefined>
  /** Whether a call says whose credits it would spend, be it by a wallet that has yet to sign in. */
  namesAccount(authorization: string | null, meta: Meta): boolean
  /** Whether what was asked can be had for credits. */
  takesCredits(routeId: string | undefined): boolean
}

export function createToolSpending(
  { credits, basePath }: Pick<EndpointContext, 'credits' | 'basePath'>,
  tools: readonly McpTool[],
): ToolSpending {
  const path = `${basePath}/mcp`
  const names = new Map(
    tools.flatMap((tool) =>
      credits && tool.kind === 'sold' && tool.prepaidRoute !== undefined
        ? [[tool.listing.name, tool.prepaidRoute]]
        : [],
    ),
  )
  const routeIds = new Set(names.values())

  return {
    namesAccount: (authorization, meta) =>
      isBearer(authorization) ||
      meta?.[SIGN_IN_WITH_X] !== undefined ||
      meta?.[RESOURCE_ID_KEY] !== undefined,
    takesCredits: (routeId) => routeId !== undefined && routeIds.has(routeId),
    bearerOf({ method, params }, authorization) {
      if (method !== 'tools/call' || !isBearer(authorization)) return undefined
      const { name } = (params ?? {}) as { name?: unknown }
      if (typeof name !== 'string' || !names.has(name)) return undefined
      return credits?.readSpender({ authorization }, path)
    },
    async resultOf(bearer, meta, { routeId, call, requestId: idempotencyKey }) {
      if (!credits || routeId === undefined || !call || !routeIds.has(routeId)) return undefined
      const proof = meta?.[SIGN_IN_WITH_X]
      const resourceId = meta?.[RESOURCE_ID_KEY]
      const spender = bearer ?? (await credits.readSpender({ authorization: null, proof, resourceId }, path))
      if (!spender) return undefined
      if (spender instanceof GatewayError) return { kind: 'failed', error: spender }
      const outcome = await credits.spend({ transport: 'mcp', routeId, call, spender, idempotencyKey })
      if (outcome.kind === 'reserved') throw new Error(`route ${routeId} is not embedded`)
      return outcome.kind === 'failed' ? outcome : debited(outcome)
    },
  }
}

/** A model that looks no further must not take a failed call for its answer. */
function debited({ response, debit, failure }: Extract<PrepaidOutcome, { kind: 'prepaid' }>): CallToolResult {
  return {
    ...textResult(JSON.stringify({ ...response, credits: debit })),
    ...(failure !== undefined && { isError: true }),
    _meta: { [CREDITS_KEY]: debit },
  }
}
