import type { Payment, TransferProof } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { OpenLimit } from './open-limit.ts'
import type { RateVerdict } from './rate-limit.ts'
import type { FailureContext, OutcomeRenderer } from './render-outcome.ts'
import type { Reply } from './reply.ts'

/** What tells one payment from another where they are counted. */
export type Countable = Pick<Payment, 'key'>

/** The proof of a plain transfer is counted as a payment. */
export const countedProof = ({ txHash }: Pick<TransferProof, 'txHash'>): Countable => ({
  key: `proof:${txHash}`,
})

/** What an address may ask for. The first two are counted per minute, and neither takes from the other. */
export interface AddressLimits {
  /** Counts a request that brings no payment. */
  rateLimit?(address: string): RateVerdict
  /** Counts a payment as one that sells nothing; the engine takes the count back once the payment has sold something. */
  failureLimit?(address: string, payment: Countable): RateVerdict
  /** Counts the answers that are passed on to it at the same time. */
  openLimit?: OpenLimit | undefined
}

/** Anything that was decoded from a request, with the payment that it brings, if any. */
export interface Decoded {
  payment?: Countable | undefined
}

/** For requests that have no place for a payment. */
export const WITHOUT_PAYMENT: { payment?: undefined } = {}

/** Whoever sends a request. */
interface Sender {
  address?: string | undefined
}

/** Counts a request against the limits of its address. */
export interface Admit {
  /** A request that was not understood, or is refused for another reason: the reply that says so, or that says "too many". */
  (sender: Sender, fault: GatewayError, failure?: FailureContext): Reply
  /** What was decoded, if the request may go on; otherwise the reply that ends it. */
  <T extends Decoded>(sender: Sender, decoded: T | GatewayError, failure?: FailureContext): T | Reply
}

/**
 * Every way in decodes a request as far as it must to see whether there is a payment, and then asks this function,
 * once. Where the payment travels in a header this is before the body is read; MCP and A2A carry it in the body.
 *
 * The rule has three parts:
 *
 * - A request without a payment is counted at once. It costs its sender nothing, so only the count limits how many an
 *   address sends.
 * - A payment is counted against another budget, and before the engine works on it. A buyer who pays must not be stopped
 *   by the requests of a neighbour at the same address. But checking a payment costs signature checks and calls to the
 *   chain, so payments that come to nothing must be limited, too. They are counted beforehand because of many that
 *   arrive together, none has failed yet. The proof of a plain transfer is a payment here: it costs the same calls.
 * - What is not understood, or only looks like a payment, counts as a request without one. If it did not count, a
 *   malformed header would be a way around the first limit.
 */
export function createAdmit({ rateLimit, failureLimit }: AddressLimits, render: OutcomeRenderer): Admit {
  function overLimit(address: string, payment: Countable | undefined): GatewayError | undefined {
    const verdict = payment ? failureLimit?.(address, payment) : rateLimit?.(address)
    if (!verdict || verdict.ok) return undefined
    const { retryAfterSeconds } = verdict
    const what = payment ? 'failing or repeated payments' : 'requests without a payment'
    const message = `too many ${what} from this address; wait ${retryAfterSeconds} s`
    return new GatewayError('RATE_LIMITED', message, { retryAfterSeconds })
  }

  function admit(sender: Sender, fault: GatewayError, failure?: FailureContext): Reply
  function admit<T extends Decoded>(
    sender: Sender,
    decoded: T | GatewayError,
    failure?: FailureContext,
  ): T | Reply
  function admit<T extends Decoded>(
    { address }: Sender,
    decoded: T | GatewayError,
    failure?: FailureContext,
  ): T | Reply {
    const isFault = decoded instanceof GatewayError
    // Where the gateway is embedded without an address, there is nobody to count for.
    const refused =
      address === undefined ? undefined : overLimit(address, isFault ? undefined : decoded.payment)
    if (refused) return render.failure(refused, { spoken: failure?.spoken })
    return isFault ? render.failure(decoded, failure) : decoded
  }

  return admit
}
