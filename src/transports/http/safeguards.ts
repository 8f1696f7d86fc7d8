import { GatewayError, UnavailableError } from '../../errors.ts'
import type { PaymentPayload } from '../../protocol/payment.ts'
import type { RateVerdict } from './rate-limit.ts'
import type { OutcomeRenderer } from './render-outcome.ts'
import type { Reply } from './reply.ts'

export interface Peer {
  address?: string | undefined
  /** This server answers A2A on `/x402/access` as well. */
  a2aOnAccess?: boolean
}

export interface SafeguardOptions {
  /** Asked for requests that bring no payment. */
  rateLimit?(address: string): RateVerdict
  /** Asked, once, for requests that bring one, before it is worked on. */
  failureLimit?(address: string, payment: PaymentPayload): RateVerdict
  /** Told of faults that the buyer only sees as 500 or 503. */
  onError?(error: unknown): void
}

export interface Safeguards {
  /** The refusal of an address that asks too often, or whose payments fail too often; undefined lets it pass. */
  limit(peer: Peer, payment?: PaymentPayload): Reply | undefined
  /** An engine that throws has decided nothing that we know of: the same request again is always safe, a new payment is not. */
  guard<T>(ask: () => Promise<T | Reply>, challengeId?: string): Promise<T | Reply>
  report(error: unknown): void
}

/** What stands between the engine and whoever asks, on every way in. */
export function createSafeguards(options: SafeguardOptions, render: OutcomeRenderer): Safeguards {
  function report(error: unknown): void {
    try {
      options.onError?.(error)
    } catch {
      // A broken log must not take the answer with it.
    }
  }

  return {
    report,
    limit({ address }, payment) {
      if (address === undefined) return undefined
      const verdict = payment ? options.failureLimit?.(address, payment) : options.rateLimit?.(address)
      if (!verdict || verdict.ok) return undefined
      const { retryAfterSeconds } = verdict
      const what = payment ? 'failing or repeated payments' : 'requests without a payment'
      const message = `too many ${what} from this address; wait ${retryAfterSeconds} s`
      return render.failure(new GatewayError('RATE_LIMITED', message, { retryAfterSeconds }))
    },
    async guard(ask, challengeId) {
      try {
        return await ask()
      } catch (error) {
        if (error instanceof GatewayError) return render.failure(error)
        report(error)
        return render.failure(concealed(error, challengeId))
      }
    },
  }
}

/** What the buyer may know of an unexpected fault. */
export function concealed(error: unknown, challengeId?: string): GatewayError {
  const details = challengeId === undefined ? {} : { challengeId }
  if (error instanceof UnavailableError) {
    const message =
      'the store or the chain is unavailable and nothing was decided; send the same request again, with the same payment if it has one'
    return new GatewayError('SETTLEMENT_PENDING', message, details)
  }
  const message =
    'the gateway met an unexpected fault; send the same request again, with the same payment if it has one'
  return new GatewayError('INTERNAL_ERROR', message, details)
}
