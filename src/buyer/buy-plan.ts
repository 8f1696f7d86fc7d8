import { type AccessGrant, DEFAULT_RESOURCE_ID } from '../protocol/access.ts'
import type { SettleResponse } from '../protocol/payment.ts'
import { errorBodyOf, receiptOf, saidIn } from './answers.ts'
import { BuyerError } from './buyer-error.ts'
import { MAX_DOCUMENT_BYTES, readDocument } from './capped-body.ts'
import { redirectTarget } from './follow-redirects.ts'
import { grantOf } from './grant.ts'
import { type SettleContext, settleExchange } from './settle-exchange.ts'

export interface PlanOrder {
  baseUrl: string
  planId: string
  requestId: string
  resourceId?: string | undefined
}

/** The result of `buyer.buy`. */
export interface Purchase {
  grant: AccessGrant
  receipt: SettleResponse
  /** The gateway had delivered it before; nothing was charged this time. */
  cached: boolean
}

/** The name under which a payment is kept. The payer is part of it: another account has other payments. */
export function orderKey(
  { baseUrl, requestId }: Pick<PlanOrder, 'baseUrl' | 'requestId'>,
  payer: string,
): string {
  return JSON.stringify(['plan', baseUrl, payer.toLowerCase(), requestId])
}

/** Buys one plan over `POST /x402/access`. */
export async function buyPlan(context: SettleContext, order: PlanOrder): Promise<Purchase> {
  const { baseUrl, planId, requestId, resourceId } = order
  const url = `${baseUrl}/x402/access`
  const body = JSON.stringify({ planId, requestId, ...(resourceId !== undefined && { resourceId }) })
  const { response, payment } = await settleExchange(context, {
    key: orderKey(order, context.account.address),
    subject: JSON.stringify([planId, resourceId ?? DEFAULT_RESOURCE_ID]),
    requestId,
    retryUnpaid: true,
    url: () => url,
    async send(paid, signal) {
      const answer = await context.fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(paid !== undefined && { 'payment-signature': paid.header }),
        },
        body,
        // A payment goes only to the gateway that the caller named, and redirects are not followed.
        redirect: 'manual',
        signal,
      })
      const target = redirectTarget(answer, url)
      if (target) {
        await answer.body?.cancel()
        const message = `${url} redirects to ${target.href}, where nothing was sent; if the gateway is there, use its address`
        throw new BuyerError('REDIRECTED', message, { requestId })
      }
      // Read inside the retry loop, so that an answer that breaks off counts as lost and is requested again.
      const text = await readDocument(answer)
      if (text === undefined) {
        const message = `the gateway's answer (HTTP ${answer.status}) is longer than ${MAX_DOCUMENT_BYTES} bytes, or never ends`
        throw new BuyerError('UNEXPECTED_ANSWER', message, { requestId })
      }
      return new Response(text === '' ? null : text, { status: answer.status, headers: answer.headers })
    },
  })
  const text = await response.text()
  const grant = response.status === 200 ? grantOf(text) : undefined
  if (!payment && response.status === 402) {
    throw new BuyerError('OFFER_UNREADABLE', 'the 402 carries no x402 v2 offer; nothing was signed', {
      requestId,
    })
  }
  if (!grant || !payment) throw refusal(response, text, requestId)
  const receipt = receiptOf(response) ?? {
    success: true,
    transaction: grant.txHash,
    network: payment.network,
    payer: context.account.address,
  }
  return { grant, receipt, cached: response.headers.get('x-svc-code') === 'PROOF_ALREADY_REDEEMED' }
}

function refusal(response: Response, text: string, requestId: string): BuyerError {
  const gateway = errorBodyOf(text)
  const { statusUrl, code } = gateway
  const details = { requestId, statusUrl, gateway }
  const said = saidIn(gateway) ?? `HTTP ${response.status}`
  if (code === 'DELIVERY_FAILED' || code === 'CHALLENGE_REFUNDED') {
    return new BuyerError('REFUNDED', `paid but not delivered: ${said}`, details)
  }
  if (response.status >= 400) {
    return new BuyerError('REFUSED', `the gateway refused${code ? ` (${code})` : ''}: ${said}`, details)
  }
  const message = `expected an AccessGrant; the gateway answered HTTP ${response.status} with something else`
  return new BuyerError('UNEXPECTED_ANSWER', message, details)
}
