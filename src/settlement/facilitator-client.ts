import { z } from 'zod'
import { fetchText } from '../chain/http-text.ts'
import { printable } from '../chain/rpc.ts'
import { UnavailableError } from '../errors.ts'
import type { Facilitator, FacilitatorAnswer } from '../ports.ts'
import { Bytes32Schema, sameHex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { MAX_TIMEOUT_SECONDS, SCHEME, X402_VERSION } from '../protocol/payment.ts'
import type { SignedAuthorization } from '../schemes/exact/authorization.ts'
import { judgeRefusal } from './facilitator-reasons.ts'

/** Headers per endpoint, as the official client's `createAuthHeaders` gives them. */
export type CreateAuthHeaders = () => Promise<{
  settle?: Record<string, string>
  supported?: Record<string, string>
}>

const SettleAnswerSchema = z.object({
  success: z.boolean(),
  errorReason: z.string().nullish(),
  transaction: z.string().nullish(),
  payer: z.string().nullish(),
})

const SupportedSchema = z.object({
  kinds: z.array(z.object({ x402Version: z.number(), scheme: z.string(), network: z.string() })),
})
export type SupportedKind = z.infer<typeof SupportedSchema>['kinds'][number]

/**
 * An x402 facilitator over HTTP. Its answer is at best a hint. A well-formed refusal counts, unless its reason may be that
 * of a payment which was sent; everything else is unknown.
 */
export function createFacilitator({
  url,
  network,
  timeoutMs = 20_000,
  maxBytes = 64 * 1024,
  createAuthHeaders,
}: {
  url: string
  network: Network
  timeoutMs?: number
  maxBytes?: number
  createAuthHeaders?: CreateAuthHeaders
}): Facilitator & { supported(): Promise<SupportedKind[]> } {
  const base = url.replace(/\/+$/, '')

  async function exchange(endpoint: 'settle' | 'supported', body?: unknown) {
    const auth = (await createAuthHeaders?.())?.[endpoint] ?? {}
    return fetchText(
      `the facilitator (${endpoint})`,
      new URL(`${base}/${endpoint}`),
      {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json', ...auth },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      },
      { timeoutMs, maxBytes },
    )
  }

  return {
    async settle(auth: SignedAuthorization) {
      try {
        const { status, text } = await exchange('settle', settleRequest(network, auth))
        return readAnswer(auth, status, text)
      } catch (error) {
        return { kind: 'unknown', reason: printable(error instanceof Error ? error.message : String(error)) }
      }
    },
    async supported() {
      const { status, text } = await exchange('supported')
      const parsed = status === 200 ? SupportedSchema.safeParse(parseJson(text)) : undefined
      if (!parsed?.success) throw new UnavailableError(`the facilitator (supported: HTTP ${status})`)
      return parsed.data.kinds
    },
  }
}

/** The official v2 body. The terms are taken from the authorization itself: the rules have compared them already. */
function settleRequest(network: Network, { signature, ...authorization }: SignedAuthorization) {
  const paymentRequirements = {
    scheme: SCHEME,
    network: network.id,
    asset: network.token.address,
    amount: authorization.value,
    payTo: authorization.to,
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    extra: { ...network.token.domain },
  }
  return {
    x402Version: X402_VERSION,
    paymentPayload: {
      x402Version: X402_VERSION,
      accepted: paymentRequirements,
      payload: { signature, authorization },
    },
    paymentRequirements,
  }
}

/** Too slow, too early, too often: says nothing about the payment. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429])

function readAnswer(auth: SignedAuthorization, status: number, text: string): FacilitatorAnswer {
  const unknown = (reason: string): FacilitatorAnswer => ({ kind: 'unknown', reason: printable(reason) })
  const declined = (reason: string): FacilitatorAnswer => ({
    kind: 'unknown',
    reason: printable(reason),
    declined: true,
  })
  // A server that failed, or was too busy, may have sent the payment before, whatever its body says.
  if (status >= 500 || TRANSIENT.has(status)) return unknown(`HTTP ${status}`)
  const parsed = SettleAnswerSchema.safeParse(parseJson(text))
  if (!parsed.success) {
    const words = `HTTP ${status} without a settlement answer`
    return status >= 400 ? declined(words) : unknown(words)
  }
  const { success, errorReason, transaction, payer } = parsed.data
  if (success) {
    const hash = Bytes32Schema.safeParse(transaction)
    return hash.success ? { kind: 'hint', txHash: hash.data } : { kind: 'hint' }
  }
  const said = errorReason?.trim()
  const reason = said || 'no reason given'
  if (transaction) return unknown(`${reason}, yet with a transaction`)
  if (payer && !sameHex(payer, auth.from)) return unknown('an answer about another payer')
  if (!said) return declined(reason)
  const judged = judgeRefusal(reason)
  if (judged.kind === 'refused') return { kind: 'refused', reason: printable(judged.word) }
  return judged.kind === 'declined' ? declined(reason) : unknown(reason)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
