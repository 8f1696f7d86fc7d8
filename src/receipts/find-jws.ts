import { decodeJsonObject } from '../protocol/base64.ts'
import { OFFER_RECEIPT } from '../protocol/receipts.ts'

/** In bytes. More than any saved response; the rest of a larger file is not read. */
export const MAX_TEXT = 256 * 1024

const JWS = /^[A-Za-z0-9_-]{2,4096}\.[A-Za-z0-9_-]{2,16384}\.[A-Za-z0-9_-]{16,1024}$/

/**
 * The signed texts in what somebody saved: a JWS alone, JSON that holds one anywhere (a status, a `payment-response`, a page's
 * JSON), or a response's headers. Each once, in the order in which they are found.
 */
export function findJws(text: string): string[] {
  const found = new Set<string>()
  const trimmed = text.slice(0, MAX_TEXT).trim()
  const lines = trimmed.split(/\r?\n/)
  if (JWS.test(trimmed)) return [trimmed]
  collect(parsed(trimmed) ?? decodeJsonObject(trimmed), found, 0)
  if (found.size === 0) for (const line of lines) collectFromLine(line.trim(), found)
  return [...found]
}

/** A header such as `payment-response: eyJ…`, as curl -i prints it, or a line with nothing but a JWS. */
function collectFromLine(line: string, found: Set<string>): void {
  const value = (/^[<>\s]*[A-Za-z-]+:\s*(\S+)$/.exec(line)?.[1] ?? line).trim()
  if (JWS.test(value)) found.add(value)
  else collect(decodeJsonObject(value), found, 0)
}

/** Where a JWS may be in JSON: in these members only, so that an access token is not taken for a receipt. */
const MEMBERS: ReadonlySet<string> = new Set(['receipt', 'refundReceipt', 'signature'])
const PATHS: ReadonlySet<string> = new Set([
  ...['extensions', OFFER_RECEIPT, 'info', 'offers', 'receipt', 'x402/payment-response', '_meta', 'result'],
  ...['x402.payment.receipts', 'metadata', 'status', 'message'],
])
const MAX_DEPTH = 12

function collect(value: unknown, found: Set<string>, depth: number): void {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return
  if (Array.isArray(value)) {
    for (const item of value) collect(item, found, depth + 1)
    return
  }
  for (const [name, member] of Object.entries(value)) {
    if (MEMBERS.has(name) && typeof member === 'string' && JWS.test(member)) found.add(member)
    else if (PATHS.has(name)) collect(member, found, depth + 1)
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
