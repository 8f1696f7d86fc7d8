import { createHash } from 'node:crypto'
import { CHARGED } from './answers.ts'
import { BuyerError } from './buyer-error.ts'
import { keepKeys, nameCalls } from './call-names.ts'
import { capResponse, wholeIfShort } from './capped-body.ts'
import { type CallCharge, callCharge } from './charge-of.ts'
import { followRedirects, type Outgoing, send, withoutCredentials } from './follow-redirects.ts'
import { isPaymentOver } from './is-payment-over.ts'
import { type SettleContext, settleExchange } from './settle-exchange.ts'
import type { PrepaidCall, Spent } from './spend-credits.ts'

/** Headers by which the caller says itself who calls. */
const OWN_CREDENTIALS = ['authorization', 'sign-in-with-x']

/** The name under which the payment for a call is kept; `id` is its Idempotency-Key. */
export function callKey({ method, url }: Pick<Request, 'method' | 'url'>, payer: string, id: string): string {
  return JSON.stringify(['fetch', method, url, payer.toLowerCase(), id])
}

/**
 * A fetch that spends credits, or pays any x402 v2 offer within the limits, and returns the seller's answer. Failures
 * of the unpaid request, and other kinds of 402, are returned unchanged. With an `Idempotency-Key` the payment survives
 * a crash: the same call under the same key sends the same payment, or is debited once.
 */
export function payingFetch(
  context: SettleContext,
  maxResponseBytes: number,
  /** What each paid answer cost. */
  charges: WeakMap<Response, CallCharge>,
  /** Absent: the buyer wants no credits. */
  spendCredits?: (prepaid: PrepaidCall) => Promise<Spent>,
): typeof fetch {
  const takeName = nameCalls()
  const prepaidKeys = keepKeys()

  return async (input, init) => {
    const request = new Request(input, init)
    if (request.headers.has('payment-signature')) {
      throw new BuyerError(
        'BAD_OPTION',
        'the request brings its own payment-signature; use a plain fetch for it',
      )
    }
    const { url, method, headers, redirect, signal } = request
    // Kept as bytes: the body is sent at least twice, and a stream can be read only once.
    const body = request.body ? await request.arrayBuffer() : undefined
    const given = headers.get('idempotency-key')
    const name = given === null ? takeName(JSON.stringify([method, url, digest(body)])) : undefined
    const key = callKey(request, context.account.address, given ?? name!.id)
    const original: Outgoing = { url, method, headers, body }
    /** The request after redirects, which is the one that is paid. */
    let at = original
    /** An answer to the unpaid request that is there already. */
    let terms: Response | undefined
    let planRefused: BuyerError | undefined
    /** A payment or a key may be kept that the next call of this kind has to go on with. */
    let isOpen = true
    const askUnpaid = async (wait: AbortSignal): Promise<Response> => {
      const { allowedHosts } = context
      const followed = await followRedirects(context.fetch, original, {
        redirect,
        allowedHosts,
        signal: wait,
      })
      at = followed.at
      return followed.response
    }
    /** Drops a decided payment whose key was generated here: no later call can ask for it. */
    const drop = async () => {
      const kept = name && (await context.storage.get(key))
      if (kept) await context.storage.forget(key, kept)
    }
    try {
      // What was signed for this call before comes first; the caller's own credentials are used as they are.
      if (
        spendCredits &&
        !OWN_CREDENTIALS.some((one) => headers.has(one)) &&
        !(await context.storage.get(key))
      ) {
        const spent = await spendCredits({
          call: original,
          mayBeRepeat: given !== null || prepaidKeys.has(name!.id),
          key: given ?? prepaidKeys.of(name!.id),
          signal,
          ask: async () => ({ response: await askUnpaid(signal), isHere: at.url === url }),
        })
        // An error that does not say what was debited is not the gateway's, and the next call repeats this one.
        isOpen = spent.kind === 'answered' && !isOfGateway(spent.response)
        if (name && !isOpen) prepaidKeys.drop(name.id)
        if (spent.kind === 'answered') return capResponse(spent.response, maxResponseBytes)
        isOpen = true
        terms = spent.terms
        planRefused = spent.planRefused
      }
      const { response, payment, charge } = await settleExchange(context, {
        key,
        subject: JSON.stringify([method, url]),
        requestId: given ?? undefined,
        retryUnpaid: false,
        signal,
        url: () => at.url,
        async send(payment, attempt) {
          if (payment) {
            const paid = await send(context.fetch, paidRequest(payment), 'manual', attempt)
            return wholeIfShort(capResponse(paid, maxResponseBytes))
          }
          const response = terms ?? (await askUnpaid(attempt))
          terms = undefined
          if (response.status === 402 && at.method !== method) {
            await response.body?.cancel()
            const message = `${method} ${url} was redirected to ${at.url}; call that address to pay there`
            throw new BuyerError('OFFER_REFUSED', message)
          }
          return response
        },
      })
      // The payment of a metered call that failed makes the next one: no other is signed while it may be charged.
      isOpen =
        name !== undefined &&
        payment !== undefined &&
        (charge?.failed || !(await isPaymentOver(context, payment, response)))
      if (payment && !isOpen) await drop()
      const answer = capResponse(response, maxResponseBytes)
      if (payment && charge) charges.set(answer, callCharge(payment, charge))
      return answer
    } catch (error) {
      if (error instanceof BuyerError && error.code === 'ALREADY_USED') await drop()
      throw planRefused ? withPlan(error, planRefused) : error
    } finally {
      name?.giveBack(isOpen)
    }

    /**
     * The payment goes to the origin of the offer, and the caller's credentials only to the origin that the caller
     * named.
     */
    function paidRequest(payment: { header: string; url?: string | undefined }): Outgoing {
      const place = payment.url ?? at.url
      const known = new URL(place).origin === new URL(url).origin
      const base = place === at.url ? at.headers : known ? headers : withoutCredentials(headers)
      const paid = new Headers(base)
      paid.set('payment-signature', payment.header)
      return { url: place, method, headers: paid, body }
    }
  }
}

/** Is this answer to a call with credits the gateway's own? */
function isOfGateway({ ok, headers }: Response): boolean {
  return ok || headers.has(CHARGED) || headers.has('x-svc-code')
}

/** Neither the plan nor the single call could be paid for: the caller wants to know both. */
function withPlan(error: unknown, plan: BuyerError): unknown {
  if (!(error instanceof BuyerError)) return error
  const { requestId, statusUrl, gateway, retryAt } = error
  return new BuyerError(error.code, `${error.message}. Nor was credit bought: ${plan.message}`, {
    ...{ requestId, statusUrl, gateway, retryAt },
    cause: error,
  })
}

function digest(body: ArrayBuffer | undefined): string {
  return body ? createHash('sha256').update(new Uint8Array(body)).digest('base64') : ''
}
