import type { Spoken } from '../../dialects/mpp/spoken.ts'
import { GatewayError, UnavailableError } from '../../errors.ts'
import { type AddressLimits, type Admit, createAdmit } from './admit.ts'
import type { OutcomeRenderer } from './render-outcome.ts'
import type { Reply } from './reply.ts'

/** Who is asking. */
export interface Peer {
  address?: string | undefined
  /** This server answers A2A on `/x402/access` as well. */
  a2aOnAccess?: boolean
}

export interface SafeguardOptions extends AddressLimits {
  /** Told of faults that the buyer only sees as 500 or 503. */
  onError?(error: unknown): void
}

export interface Safeguards {
  admit: Admit
  /**
   * Runs `ask`, and turns what it throws into a reply. An engine that throws has decided nothing that we know of, so the
   * reply tells the buyer to send the same request again: that is always safe, a new payment is not.
   */
  catchFaults<T>(
    ask: () => Promise<T | Reply>,
    about?: { challengeId?: string | undefined; spoken?: Spoken },
  ): Promise<T | Reply>
  /** Tells the operator of a fault. */
  report(error: unknown): void
}

/** What every way in needs between its requests and the engine. */
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
    admit: createAdmit(options, render),
    async catchFaults(ask, { challengeId, spoken } = {}) {
      try {
        return await ask()
      } catch (error) {
        if (error instanceof GatewayError) return render.failure(error, { spoken })
        report(error)
        return render.failure(publicFault(error, challengeId), { spoken })
      }
    },
  }
}

/** What the buyer may know of an unexpected fault. */
export function publicFault(error: unknown, challengeId?: string): GatewayError {
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
