import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { SettleResponse } from '../../src/protocol/payment.ts'
import type { Said } from './deal.ts'

/** The fields of grants, calls and errors, of whatever transport. */
interface Fields {
  type?: string
  code?: string
  status?: unknown
  accessToken?: string
  txHash?: string
  resource?: { status: number; body: unknown }
}

const LATER = new Set([408, 425, 429, 500, 503, 504])

/** What an answer over HTTP means, by x402 or by MPP. */
export async function readHttp(response: Response): Promise<Said> {
  const text = await response.text()
  const receipt = response.headers.get('payment-response')
  const settled = receipt === null ? undefined : (decodeJsonObject(receipt) as unknown as SettleResponse)
  return readFields(parse(text), response.status, text, settled?.amount)
}

/** The same for the fields of an answer over A2A or MCP, whose status is that of the error's code. */
export function readFields(fields: Fields, status: number, text: string, amount?: string): Said {
  const { accessToken, resource, txHash = '', code = '' } = fields
  if (status === 200 && accessToken !== undefined) return { kind: 'delivered', result: accessToken, txHash }
  if (status === 200 && resource) {
    if (resource.status < 200 || resource.status > 299) return { kind: 'call-failed' }
    const result = JSON.stringify(resource.body)
    return { kind: 'delivered', result, txHash, ...(amount && { chargedMicro: BigInt(amount) }) }
  }
  if (code === 'CALL_FAILED') return { kind: 'call-failed' }
  if (code === 'DELIVERY_FAILED' || code === 'CHALLENGE_REFUNDED') return { kind: 'refunded' }
  if (status === 402 || code === 'CHALLENGE_EXPIRED') return { kind: 'unpaid', code: code || '402' }
  const told = `${status} ${text.slice(0, 600)}`
  return LATER.has(status) ? { kind: 'pending', text: told } : { kind: 'odd', text: told }
}

function parse(text: string): Fields {
  try {
    return JSON.parse(text) as Fields
  } catch {
    return {}
  }
}
