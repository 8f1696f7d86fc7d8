import type { CallToolResult } from '@modelcontextprotocol/server'
import { MPP_RECEIPT_KEY, MPP_TERMS_KEY, RECEIPT_KEY, TERMS_KEY } from '../../dialects/mcp-meta.ts'
import { PAYMENT_REQUIRED_PROBLEM, problemOf, receiptOf } from '../../dialects/mpp/write-answers.ts'
import type { Offer, Outcome, SettledPayment } from '../../engine/outcome.ts'
import type { GatewayError } from '../../errors.ts'
import { ERROR_CODES } from '../../protocol/error-codes.ts'
import type { SettleResponse } from '../../protocol/payment.ts'
import { PERMIT2_ADDRESS, UPTO_PROXY_ADDRESS } from '../../protocol/permit2.ts'
import { isMetered } from '../../protocol/schemes-sold.ts'
import type { Dialects, OutcomeRenderer } from '../http/render-outcome.ts'
import type { Reply } from '../http/reply.ts'

export function textResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] }
}

/** A failure without terms: the error body of every transport. */
export function errorResult({ body }: Pick<Reply, 'body'>, receipt?: SettleResponse): CallToolResult {
  return { ...textResult(body ?? ''), isError: true, ...(receipt && { _meta: { [RECEIPT_KEY]: receipt } }) }
}

/** Makes the function that turns outcomes into results of a tool call. */
export function createResultRenderer(
  { x402, mpp }: Dialects,
  render: OutcomeRenderer,
  baseUrl: string,
): (outcome: Outcome, paysByMpp: boolean) => CallToolResult {
  const x402PaymentUrl = `${baseUrl}/x402/access`

  /**
   * Terms are an error, so that a model never takes them for what it asked; x402's clients look for them in three
   * places. MPP's clients sign whatever challenges they find, so nothing else may carry these.
   */
  function terms(offer: Offer, reason?: GatewayError, receipt?: SettleResponse): CallToolResult {
    const { x402Version, resource, accepts, error } = x402.paymentRequired(offer)
    const { url, description, mimeType } = resource
    const structured = {
      x402Version,
      resource: { url, description, mimeType },
      accepts,
      error,
      ...(receipt && { [RECEIPT_KEY]: receipt }),
    }
    const paymentInstructions = instructions(offer, resource, x402PaymentUrl)
    const challenges = mpp.challenges(offer)
    const text = { ...structured, ...(reason && whyOf(reason)), x402PaymentUrl, paymentInstructions }
    return {
      isError: true,
      structuredContent: structured,
      ...textResult(JSON.stringify(text)),
      _meta: {
        [TERMS_KEY]: structured,
        // A metered call has no challenge of MPP.
        ...(challenges.length > 0 && {
          [MPP_TERMS_KEY]: {
            httpStatus: PAYMENT_REQUIRED_PROBLEM.status,
            challenges,
            problem: reason ? problemOf(reason.toBody()) : PAYMENT_REQUIRED_PROBLEM,
          },
        }),
        ...(receipt && { [RECEIPT_KEY]: receipt }),
      },
    }
  }

  function paid(answer: object, settled: SettledPayment, receipt?: object): CallToolResult {
    return {
      ...textResult(JSON.stringify(answer)),
      _meta: { [RECEIPT_KEY]: x402.settleResponse(settled), ...(receipt && { [MPP_RECEIPT_KEY]: receipt }) },
    }
  }

  return (outcome, paysByMpp) => {
    const receiptFor = (settled: SettledPayment) => (paysByMpp ? receiptOf(settled) : undefined)
    switch (outcome.kind) {
      case 'challenge':
        return terms(outcome.offer)
      case 'granted':
        return paid(
          { ...outcome.grant, status: 'access_granted' },
          outcome.settled,
          receiptFor(outcome.settled),
        )
      case 'resource': {
        const { response, settled } = outcome
        // A model that looks no further must not take a failed call for its answer. MPP has no receipts of failures.
        if (response.refund || settled.failure !== undefined)
          return { ...paid(response, settled), isError: true }
        return paid(response, settled, receiptFor(settled))
      }
      case 'paid':
        return paid(outcome.payment, outcome.settled, receiptFor(outcome.settled))
      case 'failed': {
        const { error, offer, settled } = outcome
        const receipt = settled && x402.settleResponse(settled)
        if (offer && ERROR_CODES[error.code].mcp === 'requirements') return terms(offer, error, receipt)
        return errorResult(render.failure(error), receipt)
      }
    }
  }
}

const whyOf = ({ code, message, details: { topUp } }: GatewayError) => ({
  code,
  ...(topUp && { message, topUp }),
})

function instructions(
  { kind, itemId, rails }: Offer,
  resource: { method: string; url: string },
  x402PaymentUrl: string,
): string {
  const elsewhere =
    kind === 'plan'
      ? `POST {"planId":"${itemId}"} to ${x402PaymentUrl}`
      : `${resource.method} ${resource.url}`
  const [chosen, same] =
    rails.length > 1
      ? ['one element of accepts, on a network where you hold its asset', 'that element']
      : ['accepts[0]', 'accepts[0]']
  const { sign, payload, ending } = rails.some(isMetered) ? METERED : FIXED
  return (
    `Sign ${sign(chosen)} Then call this tool again with the same arguments and params._meta["x402/payment"] = ` +
    `{x402Version: 2, payload: ${payload}, accepted: ${same} unchanged}. Or, over plain HTTP, ` +
    `${elsewhere} with header payment-signature: base64 of the same JSON. Send the same payload again if the answer is ` +
    `lost or SETTLEMENT_PENDING: it is charged once.${ending}`
  )
}

/** What is signed for a price that the terms name. */
const FIXED = {
  sign: (chosen: string) =>
    `an EIP-3009 TransferWithAuthorization for ${chosen} (EIP-712 domain: name and version of extra, chainId of ` +
    'network, verifyingContract asset; to payTo, value amount, validAfter 0, validBefore in 300 seconds, nonce 32 ' +
    'random bytes).',
  payload: '{signature, authorization}',
  ending:
    ' Clients of MPP instead answer one challenge of _meta["org.paymentauth/payment-required"] with a credential in ' +
    'params._meta["org.paymentauth/credential"].',
}

/** What is signed for a metered call, whose terms name the most that it may cost. */
const METERED = {
  sign: (chosen: string) =>
    `a Permit2 PermitWitnessTransferFrom for ${chosen}, whose amount is the most that this call may cost (EIP-712 ` +
    `domain: name Permit2, chainId of network, verifyingContract ${PERMIT2_ADDRESS}; permitted {token: asset, amount}, ` +
    `spender ${UPTO_PROXY_ADDRESS}, nonce 32 random bytes as a decimal number, deadline in maxTimeoutSeconds, witness ` +
    '{to: payTo, facilitator: extra.facilitatorAddress, validAfter: 0}). Your wallet must have approved Permit2 to ' +
    'move the asset.',
  payload: '{signature, permit2Authorization}',
  ending: ' Nothing is charged for a call that fails.',
}
