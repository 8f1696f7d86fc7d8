import type { Engine } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { UNPAID_HEADERS } from './headers.ts'
import { unpaidView, type ViewParts, viewOf } from './receipt-view.ts'
import { receiptHtml, receiptPolicy, unknownHtml } from './render-receipt.ts'
import { jsonReply, type Reply } from './reply.ts'

/** Answers `GET /receipts/:id`. */
export type ReceiptPage = (challengeId: string, accept: string | null) => Promise<Reply>

const PRIVATE_HEADERS = {
  'cache-control': 'no-store, private',
  'x-robots-tag': 'noindex, nofollow',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  vary: 'accept',
} as const

const HTML_HEADERS = {
  ...PRIVATE_HEADERS,
  'content-type': 'text/html; charset=utf-8',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
} as const

const wantsJson = (accept: string | null): boolean =>
  accept?.includes('application/json') === true && !accept.includes('text/html')

/**
 * A purchase for people, and as JSON for programs. Whoever knows the id may see it: the id has 12 random bytes and is told to the
 * buyer alone. Never holds what was bought.
 */
export function createReceiptPage({
  engine,
  baseUrl,
  logoUrl,
  ...parts
}: ViewParts & {
  engine: Pick<Engine, 'inspect' | 'status'>
  baseUrl: string
  logoUrl: string | null
}): ReceiptPage {
  const seller = { name: parts.seller, logoUrl }
  const htmlHeaders = { ...HTML_HEADERS, 'content-security-policy': receiptPolicy(seller) }
  async function find(challengeId: string) {
    const dossier = await engine.inspect(challengeId)
    if (dossier) return viewOf(dossier, parts)
    const status = await engine.status(challengeId)
    return status && unpaidView(status, parts.seller)
  }

  return async (challengeId, accept) => {
    const view = await find(challengeId)
    if (wantsJson(accept)) {
      const headers = { ...UNPAID_HEADERS, ...PRIVATE_HEADERS }
      if (view) return jsonReply(200, headers, view)
      const error = new GatewayError(
        'CHALLENGE_NOT_FOUND',
        'this gateway issued no challenge with that id; copy the address whole',
      )
      return jsonReply(404, { ...headers, 'x-svc-code': error.code }, error.toBody())
    }
    const body = view ? receiptHtml(view, baseUrl, seller) : unknownHtml(seller)
    return { status: view ? 200 : 404, headers: htmlHeaders, body }
  }
}
