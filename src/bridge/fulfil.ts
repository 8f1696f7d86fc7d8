import type { CallToolResult } from '@modelcontextprotocol/server'
import { CHARGED, receiptOf } from '../buyer/answers.ts'
import { type Buyer, BuyerError } from '../buyer/index.ts'
import type { SettleResponse } from '../protocol/payment.ts'
import type { OrderBook } from './order-book.ts'
import type { Purchase } from './purchase.ts'
import { contentOf, failure, fitsMessage, mimeTypeOf, shortened } from './results.ts'

/** What the seller answered. */
export interface Fulfilled {
  result: CallToolResult
  /** It is what was bought, or the seller's word that the money goes back; otherwise the seller refused. */
  delivered: boolean
  /** It was made with credits. */
  debited?: boolean
  /** A metered call that failed: the seller says that it cost nothing, and the same payment makes it again. */
  uncharged?: boolean
  receipt?: SettleResponse | undefined
  /** What the seller says that it cost, for example `$0.0018`. */
  charged?: string | undefined
  /** For people, beside the answer. */
  remark?: string | undefined
}

export interface FulfilParts {
  buyer: Buyer
  saveFile: OrderBook['saveFile']
  /** How long a call may take, with the whole of its answer. */
  deadlineMs: number
}

type Call<Kind> = Extract<Purchase, { kind: Kind }>

/** Makes the purchase; the id names it, so that the same one is never paid twice. */
export async function fulfil(parts: FulfilParts, purchase: Purchase, id: string): Promise<Fulfilled> {
  if (purchase.kind === 'plan') return buyPlan(parts, purchase, id)
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), parts.deadlineMs)
  try {
    return await (purchase.kind === 'tool'
      ? callTool(parts, purchase, id, late.signal)
      : callAddress(parts, purchase, id, late.signal))
  } catch (cause) {
    if (!late.signal.aborted) throw cause
    const message = `the seller had not finished its answer after ${parts.deadlineMs / 1000} seconds`
    throw new BuyerError('STILL_PENDING', message, { cause })
  } finally {
    clearTimeout(timer)
  }
}

async function buyPlan({ buyer }: FulfilParts, purchase: Call<'plan'>, id: string): Promise<Fulfilled> {
  const { baseUrl, planId, resourceId } = purchase
  const order = { planId, requestId: id, ...(resourceId !== undefined && { resourceId }) }
  const { grant, receipt } = await buyer.buy(baseUrl, order)
  return { result: { content: [{ type: 'text', text: JSON.stringify(grant) }] }, delivered: true, receipt }
}

async function callTool(
  { buyer, saveFile }: FulfilParts,
  { url }: Call<'tool'>,
  id: string,
  signal: AbortSignal,
): Promise<Fulfilled> {
  const answer = await buyer.fetch(url, { method: 'POST', headers: { 'idempotency-key': id }, signal })
  const text = await answer.text()
  const cost = costOf(buyer, answer)
  const { uncharged, receipt } = cost
  if (!answer.ok) return { result: failure(shortened(text)), delivered: receipt?.success === true, ...cost }
  const told = JSON.parse(text) as CallToolResult
  const result = fitsMessage(told)
    ? told
    : inFile(saveFile(id, Buffer.from(text)), Buffer.byteLength(text), 'the result of the tool, as JSON')
  const isError = told.isError || uncharged
  // A tool that failed is not paid for, unless its seller says so: x402's own servers settle after the handler, and then not at all.
  const delivered = receipt?.success === true || (!told.isError && !uncharged)
  return { result: { ...result, ...(isError && { isError }) }, delivered, ...cost }
}

async function callAddress(
  { buyer, saveFile }: FulfilParts,
  { url, method, body }: Call<'call'>,
  id: string,
  signal: AbortSignal,
): Promise<Fulfilled> {
  const answer = await buyer.fetch(url, {
    method,
    headers: { 'idempotency-key': id, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body }),
    signal,
  })
  const bytes = await bytesOf(answer, signal)
  const cost = costOf(buyer, answer)
  const { uncharged, receipt } = cost
  const debited = answer.headers.has(CHARGED)
  const undelivered = !uncharged && answer.headers.get('x-svc-code') === 'DELIVERY_FAILED'
  const isError = !answer.ok || undelivered || uncharged
  const isPaid = debited || receipt?.success === true
  const type = answer.headers.get('content-type')
  const content = contentOf(bytes, type, url)
  const long = () =>
    // Nobody fills the disk with what was neither sold nor asked for.
    answer.ok || isPaid
      ? inFile(saveFile(id, bytes), bytes.length, mimeTypeOf(type) || 'of no stated type')
      : failure(`The seller's answer of ${bytes.length} bytes is too long for a message.`)
  const remaining = answer.headers.get('x-svc-credits-remaining')
  return {
    result: { ...(content ? { content: [content] } : long()), ...(isError && { isError }) },
    delivered: !uncharged && (answer.ok || undelivered || receipt?.success === true),
    debited,
    ...cost,
    remark: remarkOf(answer.status, undelivered, remaining),
  }
}

/** The whole body. One that drips is given up at the deadline, and its connection closed. */
async function bytesOf(answer: Response, signal: AbortSignal): Promise<Uint8Array> {
  if (!answer.body) return new Uint8Array()
  const reader = answer.body.getReader()
  const stop = () => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', stop, { once: true })
  try {
    const chunks: Uint8Array[] = []
    for (;;) {
      const { done, value } = await reader.read()
      signal.throwIfAborted()
      if (done) return Buffer.concat(chunks)
      chunks.push(value)
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function inFile(path: string, bytes: number, type: string): CallToolResult {
  const text = `The answer is too long for a message: its ${bytes} bytes (${type}) are in the file ${path}`
  return { content: [{ type: 'text', text }] }
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
