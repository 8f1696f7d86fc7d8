import type { LetOut } from '../../engine/outcome.ts'
import type { SvcPayment } from '../../protocol/access.ts'

/** What charging for an embedded route came to. */
export type Charged =
  /** Not paid: send this and do not run the handler. */
  | { kind: 'respond'; response: Response }
  /**
   * Paid, or debited from the caller's credits (`payment.credits`): run the handler, put these headers on its answer, and
   * say how it ended.
   */
  | {
      kind: 'paid'
      payment: SvcPayment
      /** Of every answer. */
      headers: Record<string, string>
      /** Of an answer with this status: one that is no delivery also says that the payment goes back, and when. */
      headersFor(status: number): Record<string, string>
      /**
       * Call it once the head is ready, before body bytes: a client that goes away later is not refunded. Whether the
       * status is a delivery is decided by the route's `delivered`. Rejects when a delivery cannot be recorded, or credits cannot be
       * debited: it then counts as none, so that answer must not go out.
       */
      finish(status: number): Promise<void>
    }
  | MeteredCharge

/** A metered route (scheme `upto`): run the handler, hand its whole answer to `finish`, and send what that gives back. */
export interface MeteredCharge {
  kind: 'metered'
  /** Not paid yet: `txHash` is empty, and `amount` is the most that may be charged. */
  payment: SvcPayment
  /** A longer answer counts as failed. */
  maxBytes: number
  /**
   * Says what the call costs, as the header `Settlement-Overrides` does: units of the token ("1858"), a percentage of the maximum
   * ("50%") or dollars ("$0.002"). The last call before `finish` counts, and goes before such a header of the answer.
   */
  charge: SvcCharge
  /**
   * Takes the handler's answer and gives what goes out once its charge is settled: this answer, or why it must not go out. 2xx is
   * charged; everything else passes through and costs nothing. Never rejects.
   */
  finish(answer: CapturedAnswer): Promise<Response>
  /**
   * Present if the answer may go out as it comes. Call it with the head before the body: the function that it gives takes each chunk, and
   * `response` then streams them. It gives none for what is no event stream. `finish` needs the whole answer all the same.
   */
  letOut?: LetOut
  /** What `finish` gives; it comes without it if the handler takes longer than a call may take. */
  response: Promise<Response>
}

/** Says what a metered call costs: units of the token ("1858"), a percentage of the maximum ("50%") or dollars ("$0.002"). */
export type SvcCharge = (amount: string | number | bigint) => void

/** The whole answer of a seller's handler. */
export interface CapturedAnswer {
  status: number
  /** Names in lower case, a list where a header came more than once. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Uint8Array | string | null
}
