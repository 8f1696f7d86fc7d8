import type { CallToolResult } from '@modelcontextprotocol/server'
import { receiptOf } from '../buyer/answers.ts'
import type { Buyer } from '../buyer/index.ts'
import type { SettleResponse } from '../protocol/payment.ts'
import type { Purchase } from './purchase.ts'
import { contentOf, failure } from './results.ts'

/** What the seller answered. */
export interface Fulfilled {
  result: CallToolResult
  /** It is what was bought, or the seller's word that the money goes back; otherwise the seller refused. */
  delivered: boolean
  /** A metered call that failed: the seller says that it cost nothing, and the same payment makes it again. */
  uncharged?: boolean
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
    const cost = costOf(buyer, answer)
    const { uncharged, receipt } = cost
    if (!answer.ok) return { result: failure(text), delivered: receipt?.success === true, ...cost }
    const result = JSON.parse(text) as CallToolResult
    return { result: { ...result, ...(uncharged && { isError: true }) }, delivered: !uncharged, ...cost }
  }
  const { url, method, body } = purchase
  const answer = await buyer.fetch(url, {
    method,
    headers: { 'idempotency-key': id, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body }),
  })
  const bytes = new Uint8Array(await answer.arrayBuffer())
  const cost = costOf(buyer, answer)
  const { uncharged, receipt } = cost
  const undelivered = !uncharged && answer.headers.get('x-svc-code') === 'DELIVERY_FAILED'
  const content = contentOf(bytes, answer.headers.get('content-type'), url)
  const remaining = answer.headers.get('x-svc-credits-remaining')
  return {
    result: { content: [content], ...((!answer.ok || undelivered || uncharged) && { isError: true }) },
    delivered: !uncharged && (answer.ok || undelivered || receipt?.success === true),
    ...cost,
    remark: remarkOf(answer.status, undelivered, remaining),
  }
}

function costOf(buyer: Buyer, answer: Response): Pick<Fulfilled, 'uncharged' | 'receipt' | 'charged'> {
  const receipt = receiptOf(answer)
  const charge = buyer.chargeOf(answer)
  // Only metered payments have a charge without success.
  if (charge && receipt?.success === false) return { uncharged: true, receipt }
  return { receipt, charged: charge?.charged }
}

function remarkOf(status: number, undelivered: boolean, remaining: string | null): string | undefined {
  if (undelivered)
    return 'It was paid and not delivered: the money goes back automatically, or as the seller says.'
  if (remaining !== null) return `Made with credits of a plan; ${remaining} are left.`
  return status >= 400 ? `The seller answered HTTP ${status}.` : undefined
}
