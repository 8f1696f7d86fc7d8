import { randomUUID } from 'node:crypto'
import { BuyerError } from './buyer-error.ts'
import { type SettleContext, settleExchange } from './settle-exchange.ts'

/**
 * A fetch that pays any x402 v2 offer within the limit and hands back the seller's answer. Faults of the unpaid
 * request, and 402s of other kinds, reach the caller as they are. With an `Idempotency-Key` the payment outlives a
 * crash: the same call under the same key sends the same payment.
 */
export function payingFetch(context: SettleContext, fetchOnce: typeof fetch): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    if (request.headers.has('payment-signature')) {
      throw new BuyerError(
        'BAD_OPTION',
        'the request brings its own payment-signature; use a plain fetch for it',
      )
    }
    // Kept as bytes: the body is sent twice at least, and a stream can be read only once.
    const body = request.body ? await request.arrayBuffer() : undefined
    const name = request.headers.get('idempotency-key')
    let target = request.url
    const key = JSON.stringify([
      'fetch',
      request.method,
      request.url,
      context.account.address.toLowerCase(),
      name ?? randomUUID(),
    ])
    const { response, payment } = await settleExchange(context, {
      key,
      subject: JSON.stringify([request.method, request.url]),
      requestId: name ?? undefined,
      retryUnpaid: false,
      signal: request.signal,
      async send(header, signal) {
        const headers = new Headers(request.headers)
        if (header !== undefined) headers.set('payment-signature', header)
        const answer = await fetchOnce(target, {
          method: request.method,
          headers,
          ...(body && { body }),
          // A payment goes to whoever made the offer, never on to where that one points.
          redirect: header === undefined ? request.redirect : 'manual',
          signal,
        })
        if (header === undefined && answer.status === 402 && answer.redirected) {
          if (!['GET', 'HEAD'].includes(request.method)) {
            const message = `${request.method} was redirected to ${answer.url}; call that address to pay there`
            throw new BuyerError('OFFER_REFUSED', message)
          }
          target = answer.url
        }
        return answer
      },
    })
    // Nobody can come back for a payment whose name was made up here.
    if (payment && name === null) await context.storage.forget(key, payment)
    return response
  }
}
