import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Intent } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { type PaymentPayload, paymentIdOf } from '../../protocol/payment.ts'
import type { Desk } from '../http/endpoint.ts'
import { chooseRequestId } from '../http/request-id.ts'
import { findPayment, requestIdOf } from './find-payment.ts'
import { createResultRenderer, errorResult, textResult } from './render-result.ts'
import type { McpTool } from './tool.ts'

export interface ToolCall {
  name: string
  args: unknown
  meta: Record<string, unknown> | undefined
  paymentHeader: string | null
  /** Of the caller. */
  address: string | undefined
}

/** undefined: there is no such tool. */
export type ToolCaller = (call: ToolCall) => Promise<CallToolResult | undefined>

/** Makes the function that runs tools: arguments first, then the payment, then the engine. */
export function createToolCaller(
  { engine, render, safe }: Desk,
  baseUrl: string,
  tools: readonly McpTool[],
): ToolCaller {
  const byName = new Map(tools.map((tool) => [tool.listing.name, tool]))
  const results = createResultRenderer(render, baseUrl)

  return async ({ name, args, meta, paymentHeader, address }) => {
    const tool = byName.get(name)
    if (!tool) return undefined
    if (tool.kind === 'free') return textResult(tool.text)
    const asked = tool.intentOf(args)
    if (asked instanceof GatewayError) return errorResult(render.failure(asked))
    const payment = findPayment(meta, paymentHeader)
    if (payment instanceof GatewayError) return errorResult(render.failure(payment))
    const intent = payment ? payingIntent(asked, payment) : asked
    if (intent instanceof GatewayError) return errorResult(render.failure(intent))
    const answer = await safe.guard(
      async () => ({ result: results(await engine.purchase({ ...intent, address })) }),
      payment?.accepted?.extra?.challengeId,
    )
    return 'result' in answer ? answer.result : errorResult(answer)
  }
}

/** Who names no request has it named after the payment: a retry of the same payload is then the same request. */
function payingIntent(asked: Intent, payment: PaymentPayload): Intent | GatewayError {
  const paymentId = paymentIdOf(payment)
  const requestId = chooseRequestId(asked.requestId, null, paymentId)
  if (requestId instanceof GatewayError) return requestId
  return {
    ...asked,
    payment,
    ...(paymentId !== undefined && { paymentId }),
    ...(requestId === undefined && { claimRequestId: requestIdOf(payment) }),
  }
}
