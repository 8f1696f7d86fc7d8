import type { Spoken } from '../../dialects/mpp/spoken.ts'
import type { Engine, Intent, PrepaidIntent, PrepaidOutcome, RouteCall } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { SpenderAdmission } from './admit-spender.ts'
import type { Charged } from './charged.ts'
import type { CallHeaders } from './decode-call.ts'
import { PAID_HEADERS } from './headers.ts'
import { keepLease } from './keep-lease.ts'
import { debitHeaders } from './render-prepaid.ts'
import type { Reply } from './reply.ts'
import type { Peer, Safeguards } from './safeguards.ts'

export interface CreditCharging extends Pick<Safeguards, 'catchFaults' | 'report'> {
  engine: Pick<Engine, 'spend' | 'finishPrepaid' | 'renewPrepaid'>
  admission: SpenderAdmission
  leaseMs: number
  isDelivered(routeId: string, status: number): boolean
}

/** One call of an embedded route, as it is sold. */
export interface EmbeddedCall {
  request: Request
  peer: Peer
  routeId: string
  call: RouteCall
  url: string
  spoken: Spoken
  asked: CallHeaders | GatewayError
}

type Reserved = Extract<PrepaidOutcome, { kind: 'reserved' }>
type Prepaid = Extract<Charged, { kind: 'paid' }>

/**
 * Debits calls of the seller's own handlers: reserve, run the handler, debit before the first byte of a delivery, and give
 * back otherwise. Undefined: the request brings no token or sign-in, and so may pay.
 */
export function createCreditCharge({
  engine,
  admission,
  leaseMs,
  isDelivered,
  catchFaults,
  report,
}: CreditCharging): (called: EmbeddedCall) => Promise<Prepaid | Reply> | undefined {
  function charged({ reservation, debit, payment }: Reserved, routeId: string): Prepaid {
    const stopRenewing = keepLease(() => engine.renewPrepaid(reservation), leaseMs)
    const headers = { 'cache-control': PAID_HEADERS['cache-control'] }
    let { remaining } = debit

    async function debitNow(): Promise<void> {
      const spent = await engine.finishPrepaid(reservation, true).catch((error: unknown) => {
        // Whether it is stored is not known. Its answer does not go out, so what is still reserved goes back.
        void giveBack()
        throw error
      })
      if (spent instanceof GatewayError) throw spent
      remaining = spent.remaining
    }

    // If the store is away, the credits are given back when the reservation lapses.
    const giveBack = () => engine.finishPrepaid(reservation, false).catch(report)

    return {
      kind: 'paid',
      payment,
      headers,
      headersFor: (status) =>
        isDelivered(routeId, status)
          ? { ...headers, ...debitHeaders({ ...debit, remaining }) }
          : {
              ...headers,
              ...debitHeaders({ ...debit, charged: 0, remaining: debit.remaining + debit.charged }),
              'x-svc-code': 'DELIVERY_FAILED',
            },
      async finish(status) {
        stopRenewing()
        if (isDelivered(routeId, status)) await debitNow()
        else await giveBack()
      },
    }
  }

  return ({ request, peer, routeId, call, url, spoken, asked }) => {
    const entering = admission.admitSpender(request, peer, { spoken, asked })
    if (!entering) return undefined
    return catchFaults<Prepaid>(
      async () => {
        const spender = await entering
        if ('status' in spender) return spender
        const { requestId: idempotencyKey } = asked as Pick<Intent, 'requestId'>
        const intent: PrepaidIntent = {
          ...{ transport: 'http', routeId, call, embedded: true, url, spender, idempotencyKey },
        }
        const outcome = await engine.spend(intent)
        if (outcome.kind === 'reserved') return charged(outcome, routeId)
        if (outcome.kind === 'prepaid') throw new Error(`route ${routeId} is embedded`)
        const { offer } = outcome
        return admission.refuse(
          request,
          peer,
          { ...outcome, ...(offer && { offer: { ...offer, url } }) },
          spoken,
        )
      },
      { spoken },
    )
  }
}
