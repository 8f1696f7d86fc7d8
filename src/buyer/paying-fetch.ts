import { createHash, randomUUID } from 'node:crypto'
import { BuyerError } from './buyer-error.ts'
import { capResponse } from './capped-body.ts'
import { followRedirects, type Outgoing, send, withoutCredentials } from './follow-redirects.ts'
import { type SettleContext, settleExchange } from './settle-exchange.ts'

/**
 * A fetch that pays any x402 v2 offer within the limits and returns the seller's answer. Failures of the unpaid
 * request, and other kinds of 402, are returned unchanged. With an `Idempotency-Key` the payment survives a crash:
 * the same call under the same key sends the same payment.
 */
export function payingFetch(context: SettleContext, maxResponseBytes: number): typeof fetch {
  const takeName = nameCalls()

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
    const payer = context.account.address.toLowerCase()
    const name = given === null ? takeName(JSON.stringify([method, url, digest(body)])) : undefined
    const key = JSON.stringify(['fetch', method, url, payer, given ?? name!.id])
    const original: Outgoing = { url, method, headers, body }
    /** The request after redirects, which is the one that is paid. */
    let at = original
    /** Drops a decided payment whose key was generated here: no later call can ask for it. */
    const drop = async () => {
      const kept = name && (await context.storage.get(key))
      if (kept) await context.storage.forget(key, kept)
    }
    try {
      const { response } = await settleExchange(context, {
        key,
        subject: JSON.stringify([method, url]),
        requestId: given ?? undefined,
        retryUnpaid: false,
        signal,
        url: () => at.url,
        async send(payment, attempt) {
          if (payment) return send(context.fetch, paidRequest(payment), 'manual', attempt)
          const { allowedHosts } = context
          const followed = await followRedirects(context.fetch, original, {
            redirect,
            allowedHosts,
            signal: attempt,
          })
          at = followed.at
          if (followed.response.status === 402 && at.method !== method) {
            await followed.response.body?.cancel()
            const message = `${method} ${url} was redirected to ${at.url}; call that address to pay there`
            throw new BuyerError('OFFER_REFUSED', message)
          }
          return followed.response
        },
      })
      await drop()
      return capResponse(response, maxResponseBytes)
    } catch (error) {
      if (error instanceof BuyerError && error.code === 'ALREADY_USED') await drop()
      throw error
    } finally {
      name?.giveBack()
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

/**
 * Generates keys for calls without an Idempotency-Key. Concurrent calls have different keys. The next call of the
 * same kind reuses the key of one that ended, and so finds the payment that a failed call left.
 */
function nameCalls(): (kind: string) => { id: string; giveBack(): void } {
  const own = randomUUID()
  const taken = new Set<string>()
  return (kind) => {
    let number = 0
    while (taken.has(`${number} ${kind}`)) number++
    const mark = `${number} ${kind}`
    taken.add(mark)
    return { id: `${own} ${mark}`, giveBack: () => void taken.delete(mark) }
  }
}

function digest(body: ArrayBuffer | undefined): string {
  return body ? createHash('sha256').update(new Uint8Array(body)).digest('base64') : ''
}
