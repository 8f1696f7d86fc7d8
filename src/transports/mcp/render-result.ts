import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Outcome } from '../../engine/outcome.ts'
import { ERROR_CODES } from '../../protocol/error-codes.ts'
import type { PaymentRequired, SettleResponse } from '../../protocol/payment.ts'
import type { OutcomeRenderer } from '../http/render-outcome.ts'
import type { Reply } from '../http/reply.ts'

const RECEIPT_KEY = 'x402/payment-response'

export function textResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] }
}

/** A failure without terms: the error body of every transport. */
export function errorResult({ body }: Pick<Reply, 'body'>, receipt?: SettleResponse): CallToolResult {
  return { ...textResult(body ?? ''), isError: true, ...(receipt && { _meta: { [RECEIPT_KEY]: receipt } }) }
}

/** Makes the function that turns outcomes into results of a tool call. */
export function createResultRenderer(
  render: OutcomeRenderer,
  baseUrl: string,
): (outcome: Outcome) => CallToolResult {
  const x402PaymentUrl = `${baseUrl}/x402/access`

  /** Terms are an error, so that a model never takes them for what it asked; clients look for them in three places. */
  function terms(required: PaymentRequired, code?: string, receipt?: SettleResponse): CallToolResult {
    const { x402Version, resource, accepts, error } = required
    const { url, description, mimeType } = resource
    const structured = {
      x402Version,
      resource: { url, description, mimeType },
      accepts,
      error,
      ...(receipt && { [RECEIPT_KEY]: receipt }),
    }
    const paymentInstructions = instructions(required, x402PaymentUrl)
    const text = { ...structured, ...(code && { code }), x402PaymentUrl, paymentInstructions }
    return {
      isError: true,
      structuredContent: structured,
      ...textResult(JSON.stringify(text)),
      _meta: { 'x402/error': structured, ...(receipt && { [RECEIPT_KEY]: receipt }) },
    }
  }

  function paid(answer: object, receipt: SettleResponse): CallToolResult {
    return { ...textResult(JSON.stringify(answer)), _meta: { [RECEIPT_KEY]: receipt } }
  }

  return (outcome) => {
    switch (outcome.kind) {
      case 'challenge':
        return terms(outcome.required)
      case 'granted':
        return paid({ ...outcome.grant, status: 'access_granted' }, outcome.receipt)
      case 'resource': {
        const { response, receipt } = outcome
        const result = paid(response, receipt)
        // A model that looks no further must not take a failed call for its answer.
        return response.refund ? { ...result, isError: true } : result
      }
      case 'paid':
        return paid(outcome.payment, outcome.receipt)
      case 'failed': {
        const { error, required, receipt } = outcome
        if (required && ERROR_CODES[error.code].mcp === 'requirements')
          return terms(required, error.code, receipt)
        return errorResult(render.failure(error), receipt)
      }
    }
  }
}

function instructions({ resource, accepts }: PaymentRequired, x402PaymentUrl: string): string {
  const extra = accepts[0]?.extra
  const elsewhere =
    extra?.routeId === undefined
      ? `POST {"planId":"${extra?.planId}"} to ${x402PaymentUrl}`
      : `${resource.method} ${resource.url}`
  return (
    'Sign an EIP-3009 TransferWithAuthorization for accepts[0] (EIP-712 domain: name and version of extra, chainId of ' +
    'network, verifyingContract asset; to payTo, value amount, validAfter 0, validBefore in 300 seconds, nonce 32 random ' +
    'bytes). Then call this tool again with the same arguments and params._meta["x402/payment"] = {x402Version: 2, ' +
    'payload: {signature, authorization}, accepted: accepts[0] unchanged}. Or, over plain HTTP, ' +
    `${elsewhere} with header payment-signature: base64 of the same JSON. Send the same payload again if the answer is ` +
    'lost or SETTLEMENT_PENDING: it is charged once.'
  )
}
