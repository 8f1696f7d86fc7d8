import { CHARGED, errorBodyOf, REMAINING } from './answers.ts'
import { BuyerError } from './buyer-error.ts'
import { readDocument, wholeIfShort } from './capped-body.ts'
import { type Outgoing, send } from './follow-redirects.ts'
import { sendUntilDecided, type Waiting } from './send-until-decided.ts'

/** How a call with a token ended. */
export type PrepaidAnswer =
  /** The seller's answer, with what it cost if it was debited. */
  | { kind: 'answered'; response: Response; debit?: { charged: number; remaining: number } }
  /** 402; `response` sells the single call. `planId`: the plan that the gateway names to go on with. */
  | { kind: 'exhausted'; response: Response; planId?: string }
  /** 401: the token is not good. `byGateway`: for certain, and not by something in front of it. */
  | { kind: 'refused'; byGateway: boolean }
  /** The call takes no credits, contrary to what was known. */
  | { kind: 'unpaid'; response?: Response }

const REPEATED_BY_KEY =
  'The call may have been debited: the same call with the same Idempotency-Key is debited once'

/**
 * Makes a call with a token, and makes the same call again while its answer is lost or not yet known. The
 * Idempotency-Key lets the gateway debit it once.
 */
export async function sendPrepaid(
  context: Waiting & { fetch: typeof fetch },
  call: Outgoing,
  {
    token,
    key,
    mayBeRepeat,
    signal,
  }: { token: string; key: string; mayBeRepeat: boolean; signal: AbortSignal },
): Promise<PrepaidAnswer> {
  const headers = new Headers(call.headers)
  headers.set('authorization', `Bearer ${token}`)
  headers.set('idempotency-key', key)
  let attempts = 0
  const response = await sendUntilDecided(
    context,
    {
      retryUnpaid: true,
      advice: REPEATED_BY_KEY,
      signal,
      async send(_payment, attempt) {
        attempts++
        return wholeIfShort(await send(context.fetch, { ...call, headers }, 'manual', attempt))
      },
    },
    undefined,
    context.clock.now() + context.maxWaitSeconds * 1000,
  )
  const charged = response.headers.get(CHARGED)
  if (charged !== null) {
    const debit = { charged: Number(charged), remaining: Number(response.headers.get(REMAINING)) }
    return { kind: 'answered', response, debit }
  }
  const { status } = response
  const code = response.headers.get('x-svc-code')
  if (status === 402 && code === 'CREDITS_EXHAUSTED') {
    const planId = errorBodyOf((await readDocument(response.clone())) ?? '').topUp?.planId
    return { kind: 'exhausted', response, ...(typeof planId === 'string' && { planId }) }
  }
  if (status === 402) return { kind: 'unpaid', response }
  if (status === 401 || (status >= 300 && status < 400)) {
    await response.body?.cancel()
    const byGateway = status === 401 && code === 'UNAUTHORIZED'
    // Something in front of the gateway knows nothing of what the same call was debited before.
    if (!byGateway && (mayBeRepeat || attempts > 1)) {
      const message = `something in front of the gateway answered HTTP ${status} to the token. ${REPEATED_BY_KEY}; a buyer with credits: "off" pays for it instead`
      throw new BuyerError('STILL_PENDING', message)
    }
    return status === 401 ? { kind: 'refused', byGateway } : { kind: 'unpaid' }
  }
  return { kind: 'answered', response }
}
