import type { SvcPayment } from '../../protocol/access.ts'

/** What charging for an embedded route came to. */
export type Charged =
  /** Not paid: send this and do not run the handler. */
  | { kind: 'respond'; response: Response }
  /** Paid: run the handler, with these headers on its answer, and say how it ended. */
  | {
      kind: 'paid'
      payment: SvcPayment
      headers: Record<string, string>
      /** `ok` once a good head is ready, before body bytes: a client that goes away later is not refunded. */
      finish(result: { ok: true } | { ok: false; reason: string }): Promise<void>
    }

/** Charges for one call of a route that the seller's own handler answers. */
export type ChargeRoute = (request: Request, routeId: string, peer?: { address?: string }) => Promise<Charged>
