import type { CallToolResult } from '@modelcontextprotocol/server'
import { receiptOf } from '../buyer/answers.ts'
import type { Buyer } from '../buyer/index.ts'
import type { SettleResponse } from '../protocol/payment.ts'
import type { Purchase } from './purchase.ts'
import { contentOf } from './results.ts'

/** What the seller answered. */
export interface Fulfilled {
  result: CallToolResult
  /** It is what was bought, or the seller's word that the money goes back; otherwise the seller refused. */
  delivered: boolean
  receipt?: SettleResponse | undefined
  /** What the seller says that it cost, for example `$0.0018`. */
  charged?: string | undefined
  /** For people, beside the answer. */
  remark?: string | undefined
}

/** Makes the purchase by this buyer; the id names it, so that the same one is never paid twice. */
export async function fulfil(buyer: Buyer, purchase: Purchase, id: string): Promise<Fulfilled> {
  if (purchase.kind === 'plan') {
    const { baseUrl, planId, resourceId } = purchase
    const { grant, receipt } = await buyer.buy(baseUrl, {
      planId,
      requestId: id,
      ...(resourceId !== undefined && { resourceId }),
    })
    return { result: { content: [{ type: 'text', text: JSON.stringify(grant) }] }, delivered: true, receipt }
  }
  if (purchase.kind === 'tool') {
    const answer = await buyer.fetch(purchase.url, { method: 'POST', headers: { 'idempotency-key': id } })
    const text = await answer.text()
    const receipt = receiptOf(answer)
    const charged = buyer.chargeOf(answer)?.charged
    if (answer.ok) return { result: JSON.parse(text) as CallToolResult, delivered: true, receipt, charged }
    const result: CallToolResult = { isError: true, content: [{ type: 'text', text }] }
    return { result, delivered: receipt?.success === true, receipt, charged }
  }
  const { url, method, body } = purchase
  const answer = await buyer.fetch(url, {
    method,
    headers: { 'idempotency-key': id, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body }),
  })
  const bytes = new Uint8Array(await answer.arrayBuffer())
  const receipt = receiptOf(answer)
  const undelivered = answer.headers.get('x-svc-code') === 'DELIVERY_FAILED'
  const content = contentOf(bytes, answer.headers.get('content-type'), url)
  const remaining = answer.headers.get('x-svc-credits-remaining')
  return {
    result: { content: [content], ...((!answer.ok || undelivered) && { isError: true }) },
    delivered: answer.ok || undelivered || receipt?.success === true,
    receipt,
    charged: buyer.chargeOf(answer)?.charged,
    remark: remarkOf(answer.status, undelivered, remaining),
  }
}

function remarkOf(status: number, undelivered: boolean, remaining: string | null): string | undefined {
  if (undelivered)
    return 'It was paid and not delivered: the money goes back automatically, or as the seller says.'
  if (remaining !== null) return `Made with credits of a plan; ${remaining} are left.`
  return status >= 400 ? `The seller answered HTTP ${status}.` : undefined
}
