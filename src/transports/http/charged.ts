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
