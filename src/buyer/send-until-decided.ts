import { CHARGED, errorBodyOf, receiptOf } from './answers.ts'
import { BuyerError } from './buyer-error.ts'
import type { BuyerStep } from './buyer-step.ts'
import { readDocument } from './capped-body.ts'
import type { StoredPayment } from './payment-storage.ts'
import { signedPermit } from './signed-payment.ts'

/** The clock of a buyer. */
export interface BuyerClock {
  /** Milliseconds since the epoch. */
  now(): number
  sleep(ms: number): Promise<void>
}

export interface Waiting {
  clock: BuyerClock
  maxWaitSeconds: number
  onStep(step: BuyerStep): void
}

interface Sending {
  /** What the caller of a request that is repeated without a payment should do if time is up. */
  advice?: string
  requestId?: string | undefined
  send(payment: StoredPayment | undefined, signal: AbortSignal): Promise<Response>
  retryUnpaid: boolean
  signal?: AbortSignal | undefined
}

const ATTEMPT_TIMEOUT_MS = 90_000
const FIRST_BACKOFF_MS = 500
const MAX_BACKOFF_MS = 8_000

/** Nothing was signed, and no answer ever came. The caller of `buy` gets its cause, which is fetch's own error. */
export class Unreached extends BuyerError {}

/**
 * Sends the same request until its answer is a decision. A lost answer, a 5xx and SETTLEMENT_PENDING all mean that
 * the money may have moved: signing again could pay twice, sending the same payment cannot.
 */
export async function sendUntilDecided(
  { clock, onStep }: Waiting,
  sending: Sending,
  paid: { payment: StoredPayment; resumed: boolean } | undefined,
  deadlineMs: number,
): Promise<Response> {
  const mayRetry = paid !== undefined || sending.retryUnpaid
  let statusUrl: string | undefined
  let wasAnswered = false
  for (let attempt = 1; ; attempt++) {
    if (paid) onStep({ step: 'send', attempt, resumed: paid.resumed })
    let reason: string
    let cause: unknown
    let retryAfterMs: number | undefined
    try {
      const response = await sendOnce(sending, paid?.payment, deadlineMs - clock.now())
      if (!mayRetry || !isUndecided(response, paid?.payment)) return response
      wasAnswered = true
      const body = errorBodyOf((await readDocument(response).catch(() => '')) ?? '')
      statusUrl = typeof body.statusUrl === 'string' ? body.statusUrl : statusUrl
      const said = typeof body.message === 'string' ? body.message : `the gateway answered ${response.status}`
      // Words follow it.
      reason = said.replace(/\.$/, '')
      retryAfterMs = retryAfterOf(response, clock.now())
    } catch (error) {
      // An error about an answer that arrived is not a lost answer.
      if (!mayRetry || sending.signal?.aborted || error instanceof BuyerError) throw error
      reason = 'the gateway could not be reached, or its answer was lost'
      cause = error
    }
    const delayMs = retryAfterMs ?? Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1))
    if (clock.now() + delayMs > deadlineMs) {
      const isUnreached = !paid && !wasAnswered && sending.advice === undefined
      const Kind = isUnreached ? Unreached : BuyerError
      throw stillPending(Kind, reason, { ...sending, paid: !!paid, statusUrl, cause })
    }
    onStep({
      step: 'pending',
      reason,
      retryInSeconds: delayMs / 1000,
      ...(statusUrl !== undefined && { statusUrl }),
    })
    await sleepUnlessAborted(clock, delayMs, sending.signal)
    sending.signal?.throwIfAborted()
  }
}

async function sleepUnlessAborted(
  clock: BuyerClock,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!signal) return clock.sleep(ms)
  const slept = new AbortController()
  const aborted = new Promise<unknown>((resolve) => {
    signal.addEventListener('abort', resolve, { once: true, signal: slept.signal })
  })
  await Promise.race([clock.sleep(ms), aborted])
  slept.abort()
}

/** Limits the wait for the head of an answer; the body may stream without a limit. */
async function sendOnce(
  { send, signal }: Sending,
  payment: StoredPayment | undefined,
  leftMs: number,
): Promise<Response> {
  const timeout = new AbortController()
  const timer = setTimeout(
    () => timeout.abort(new DOMException('the server did not answer in time', 'TimeoutError')),
    Math.max(1_000, Math.min(ATTEMPT_TIMEOUT_MS, leftMs)),
  )
  try {
    return await send(payment, signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal)
  } finally {
    clearTimeout(timer)
  }
}

function isUndecided(response: Response, payment: StoredPayment | undefined): boolean {
  // With the receipt of a confirmed payment, or with what was debited, this is the seller's own answer, even if it is a 500.
  const receipt = receiptOf(response)
  if (receipt?.success || response.headers.has(CHARGED)) return false
  // So it is where a metered call failed and cost nothing.
  if (receipt?.amount === '0' && payment && signedPermit(payment)) return false
  if (response.headers.get('x-svc-code') === 'DELIVERY_FAILED') return false
  // Proxies have statuses of their own, such as 520, for a seller whose answer they lost.
  return response.status >= 500 || [408, 425, 429].includes(response.status)
}

/** Seconds or a date, as HTTP allows, with a minimum that prevents a busy loop. */
function retryAfterOf(response: Response, nowMs: number): number | undefined {
  const value = response.headers.get('retry-after')
  if (value === null) return undefined
  const delayMs = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs
  return Number.isFinite(delayMs) ? Math.max(250, delayMs) : undefined
}

function stillPending(
  Kind: typeof BuyerError,
  reason: string,
  details: Pick<Sending, 'requestId' | 'advice'> & {
    paid: boolean
    statusUrl: string | undefined
    cause: unknown
  },
): BuyerError {
  const advice = details.paid
    ? 'The payment is kept: buy again with the same requestId, and the same payment is sent again'
    : (details.advice ?? 'Nothing was signed')
  return new Kind('STILL_PENDING', `${reason}. ${advice}`, details)
}
