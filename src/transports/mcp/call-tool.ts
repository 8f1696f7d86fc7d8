import type { CallToolResult } from '@modelcontextprotocol/server'
import { type CallPayment, requestIdOf } from '../../dialects/mcp-meta.ts'
import type { Intent, Payment } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { EndpointContext } from '../http/endpoint.ts'
import { readRequestId } from '../http/read-request-id.ts'
import type { Spending } from '../http/read-spender.ts'
import { createResultRenderer, errorResult, textResult } from './render-result.ts'
import { createToolSignIn } from './sign-in.ts'
import type { ToolSpending } from './spend-credits.ts'
import type { McpTool } from './tool.ts'

export interface ToolCall {
  name: string
  args: unknown
  meta: Record<string, unknown> | undefined
  paying: CallPayment
  /** Whose token the HTTP request brings, if the tool takes credits. */
  bearer: Spending | GatewayError | undefined
  /** The header of the HTTP request, which may have a token beside a payment too. */
  authorization: string | null
  /** Of the caller. */
  address: string | undefined
}

/** undefined: there is no such tool. */
export type ToolCaller = (call: ToolCall) => Promise<CallToolResult | undefined>

/** Makes the function that runs tools: arguments first, then the payment, then the engine. */
export function createToolCaller(
  context: EndpointContext,
  baseUrl: string,
  tools: readonly McpTool[],
  spending: ToolSpending,
): ToolCaller {
  const { engine, dialects, render, catchFaults } = context
  const signIn = createToolSignIn(context, spending.takesCredits)
  const byName = new Map(tools.map((tool) => [tool.listing.name, tool]))
  const results = createResultRenderer(dialects, render, baseUrl)

  return async ({ name, args, meta, paying: { payment, paysByMpp }, bearer, authorization, address }) => {
    const tool = byName.get(name)
    if (!tool) return undefined
    if (tool.kind === 'free') return textResult(tool.text())
    const asked = tool.intentOf(args)
    if (asked instanceof GatewayError) return errorResult(render.failure(asked))
    if (payment instanceof GatewayError) return errorResult(render.failure(payment))
    const intent = payment ? payingIntent(asked, payment, spending.namesAccount(authorization, meta)) : asked
    if (intent instanceof GatewayError) return errorResult(render.failure(intent))
    const answer = await catchFaults(
      async () => {
        const prepaid = payment ? undefined : await spending.resultOf(bearer, meta, intent)
        if (prepaid && 'content' in prepaid) return { result: prepaid }
        const owned = prepaid ?? (payment ? undefined : await signIn.outcomeOf(meta, intent))
        const outcome = owned ?? (await engine.purchase({ ...intent, address }))
        return { result: signIn.offering(outcome, results(outcome, paysByMpp)) }
      },
      { challengeId: payment?.echo.challengeId },
    )
    return 'result' in answer ? answer.result : errorResult(answer)
  }
}

/**
 * A request without a name is named after its payment, so that a retry of the same payload is the same request. With
 * `namesAccount` its requestId is a name within that account, and the offer that it pays has another: it names the payment.
 */
function payingIntent(asked: Intent, payment: Payment, namesAccount: boolean): Intent | GatewayError {
  const requestId = readRequestId(asked.requestId, payment)
  if (requestId instanceof GatewayError) return requestId
  if (requestId === undefined) return { ...asked, payment, claimRequestId: requestIdOf(payment) }
  if (!namesAccount) return { ...asked, payment }
  const { requestId: _, ...rest } = asked
  return { ...rest, payment: { ...payment, paymentId: requestId } }
}
