import type { Spoken } from '../../dialects/mpp/spoken.ts'
import type {
  AnswerStream,
  Engine,
  Intent,
  Offer,
  Outcome,
  RouteCall,
  SignedReceipt,
} from '../../engine/outcome.ts'
import { encodeJson } from '../../protocol/base64.ts'
import type { DiscoveryCatalog, Route } from '../../protocol/catalog.ts'
import type { PaymentPage } from '../people/payment-page.ts'
import { createSpenderAdmission } from './admit-spender.ts'
import type { OfferExtension } from './challenge-extensions.ts'
import { type CreditCharging, createCreditCharge, type EmbeddedCall } from './charge-credits.ts'
import { createMeteredCharge, shownTo, withoutCors } from './charge-metered.ts'
import type { Charged } from './charged.ts'
import { decodeCallHeaders, soldMethod } from './decode-call.ts'
import { undeliveredHeaders } from './headers.ts'
import { keepLease } from './keep-lease.ts'
import type { ReadSpender } from './read-spender.ts'
import { createOutcomeRenderer, type Dialects, receiptHeader } from './render-outcome.ts'
import { renderRaw } from './render-raw.ts'
import { type Reply, toResponse } from './reply.ts'
import { basePathOf, belowBasePath, requestTarget } from './request-target.ts'
import { createSafeguards, type Peer, type SafeguardOptions } from './safeguards.ts'
import type { SignIn } from './sign-in.ts'

export type { Charged }

/**
 * Charges for one call of a route that the seller's own handler answers. A metered route (scheme `upto`) gives `metered` in place of
 * `paid`: its handler runs before the payment is settled.
 *
 * @example
 * async function weather(request: Request, chargeRoute: ChargeRoute): Promise<Response> {
 *   const charged = await chargeRoute(request, 'weather')
 *   if (charged.kind === 'respond') return charged.response
 *   if (charged.kind === 'metered') {
 *     charged.charge('$0.002')
 *     const headers = { 'content-type': 'application/json' }
 *     return charged.finish({ status: 200, headers, body: JSON.stringify({ sky: 'clear' }) })
 *   }
 *   // Before the first byte goes out: should this reject, the payment goes back, and so the answer must not go out.
 *   await charged.finish(200)
 *   return Response.json({ sky: 'clear' }, { headers: charged.headersFor(200) })
 * }
 */
export type ChargeRoute = (request: Request, routeId: string, peer?: Peer) => Promise<Charged>

export interface ChargeRouteOptions extends SafeguardOptions {
  engine: Pick<Engine, 'purchase' | 'finish' | 'renew'>
  dialects: Dialects
  /** How long a delivery may take before it counts as lost; renewed while a handler runs. */
  leaseMs: number
  /** The longest answer of a metered call. Default: 1 MiB. */
  maxAnswerBytes?: number
  baseUrl: string
  discovery: Pick<DiscoveryCatalog, 'plans' | 'routes' | 'refunds'>
  /** Extensions of the 402 that differ from offer to offer. */
  extensions?: readonly OfferExtension[]
  /** As the seller gave them: `delivered` is no part of the discovery. */
  routes?: readonly Route[]
  /** Absent: no plan grants credits or once did. */
  credits?: CreditCharging['engine'] & { readSpender: ReadSpender }
  /** Shows the 402 to people. Absent: they get what agents get. */
  paymentPage?: PaymentPage
  /** How a wallet spends without its token. */
  signIn?: SignIn
}

type Paid = Extract<Outcome, { kind: 'paid' }> & { spoken: Spoken }

const MAX_ANSWER_BYTES = 1_048_576

/**
 * Makes the function behind `payPerRequest`. What is sold is method, path and query; the body belongs to the
 * seller's handler and is not read here. Routes are written as below the gateway's base path, or, beside it, as the
 * whole path.
 */
export function createChargeRoute(options: ChargeRouteOptions): ChargeRoute {
  const { engine, dialects, paymentPage } = options
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const { origin } = new URL(baseUrl)
  const basePath = basePathOf(baseUrl)
  const render = createOutcomeRenderer(dialects, baseUrl, {
    embedded: true,
    discovery: options.discovery,
    ...(options.extensions && { extensions: options.extensions }),
  })
  const { admit, catchFaults, report } = createSafeguards(options, render)

  const deliveredOf = new Map(options.routes?.map(({ routeId, delivered }) => [routeId, delivered]))

  function isDelivered(routeId: string, status: number): boolean {
    const isGood = status >= 200 && status <= 299
    try {
      const delivered = deliveredOf.get(routeId)
      // Untyped code may return anything, a promise for example: only true means delivered.
      return delivered ? delivered(status) === true : isGood
    } catch (error) {
      report(error)
      return isGood
    }
  }

  const { credits, signIn } = options
  const takesCredits = new Set(
    credits && options.routes?.flatMap((route) => (route.credits === undefined ? [] : route.routeId)),
  )
  const admission = credits && createSpenderAdmission(credits.readSpender, { admit, render, signIn })
  const chargeCredits =
    credits &&
    admission &&
    createCreditCharge({
      ...{ engine: credits, admission, leaseMs: options.leaseMs, isDelivered, catchFaults, report },
    })

  function calledBy(request: Request, routeId: string, peer: Peer): EmbeddedCall {
    const target = requestTarget(request)
    const path = belowBasePath(target, basePath) ?? target
    const call = { method: soldMethod(request.method), path, headers: {}, body: null }
    return { request, peer, routeId, call, url: origin + target, ...decodeCallHeaders(dialects, request) }
  }

  async function charge(
    called: EmbeddedCall,
    answer?: RouteCall['answer'],
    stream?: AnswerStream,
  ): Promise<Paid | Reply> {
    const { request, peer, routeId, url, spoken, asked } = called
    const call = { ...called.call, ...(answer && { answer }), ...(stream && { stream }) }
    const admitted = admit(peer, asked, { spoken })
    if ('status' in admitted) return admitted
    const intent: Intent = {
      ...{ transport: 'http', routeId, call, embedded: true, url, address: peer.address },
      ...admitted,
    }
    const challengeId = admitted.payment?.echo.challengeId
    return catchFaults<Paid>(
      async () => {
        const outcome = await engine.purchase(intent)
        if (outcome.kind === 'paid') return { ...outcome, spoken }
        const placed = withUrl(outcome, url)
        if (placed.kind !== 'challenge') return rendered(placed, spoken)
        if (paymentPage?.isWanted(request)) return paymentPage.show(render.outcome(placed, spoken))
        const mayBePrepaid = admission && takesCredits.has(routeId)
        return mayBePrepaid ? admission.challenge(request, placed, spoken) : render.outcome(placed, spoken)
      },
      { challengeId, spoken },
    )
  }

  const rendered = (outcome: Outcome, spoken: Spoken) =>
    withoutCors(renderRaw(outcome, render, spoken), outcome)

  const isMetered = new Set(options.routes?.flatMap(({ routeId, scheme }) => (scheme ? routeId : [])))
  const chargeMetered = createMeteredCharge(
    charge,
    render,
    options.maxAnswerBytes ?? MAX_ANSWER_BYTES,
    new Set(options.routes?.flatMap(({ routeId, stream }) => (stream ? routeId : []))),
  )

  function respond(request: Request, reply: Reply): Charged {
    return { kind: 'respond', response: toResponse(shownTo(request, reply), request) }
  }

  return async (request, routeId, peer = {}) => {
    const called = calledBy(request, routeId, peer)
    const prepaid = takesCredits.has(routeId) ? await chargeCredits?.(called) : undefined
    if (prepaid) return 'kind' in prepaid ? prepaid : respond(request, prepaid)
    const charged = await (isMetered.has(routeId) ? chargeMetered(called) : charge(called))
    if (!('kind' in charged)) return respond(request, charged)
    if (charged.kind === 'metered') return charged
    const { payment, settled, lease, notice, spoken, signReceipt } = charged
    const { challengeId } = payment
    const responseWith = (receipt?: string) =>
      encodeJson(dialects.x402.settleResponse({ ...settled, ...(receipt !== undefined && { receipt }) }))
    const headers = {
      'payment-response': responseWith(),
      'cache-control': 'no-store, private',
      ...render.receiptUrlHeader(challengeId),
    }
    // Signed once: what the buyer gets with the answer is what `finish` stores.
    let signed: SignedReceipt | undefined
    const receiptOnce = () => {
      signed ??= signReceipt?.()
      return signed
    }
    const renew = () => engine.renew(challengeId, lease)
    let stopRenewing = keepLease(renew, options.leaseMs)
    let isWithheld = false
    const headersFor = (status: number) =>
      isDelivered(routeId, status)
        ? {
            ...headers,
            'payment-response': responseWith(receiptOnce()?.jws),
            ...receiptHeader(settled, spoken),
          }
        : { ...headers, ...undeliveredHeaders(notice) }
    const finish = async (status: number) => {
      if (isWithheld) {
        // Told once more, because its head is out already.
        isWithheld = false
        await renew().catch(() => true)
        stopRenewing = keepLease(renew, options.leaseMs)
      }
      if (isDelivered(routeId, status)) {
        const receipt = receiptOnce()
        const stored = await engine
          .finish(challengeId, lease, { ok: true, receipt })
          .catch((error: unknown) => {
            // The answer must not go out: the call may be made again, or its payment sent back, once the lease has run out.
            stopRenewing()
            isWithheld = true
            throw error
          })
        // Another try may have delivered first: its receipt is the one that every replay shows.
        if (receipt && stored !== undefined) signed = { ...receipt, jws: stored }
      } else {
        const result = { ok: false, reason: `the handler answered ${status}` } as const
        // Not recorded is not delivered either: the lease runs out and the refund comes all the same.
        await engine.finish(challengeId, lease, result).catch(report)
      }
      stopRenewing()
    }
    return { kind: 'paid', payment, headers, headersFor, finish }
  }
}

/** The seller's own route may lie beside the gateway's base path: the 402 names where the call was made. */
function withUrl(outcome: Outcome, url: string): Outcome {
  const named = (offer: Offer): Offer => ({ ...offer, url })
  if (outcome.kind === 'challenge') return { ...outcome, offer: named(outcome.offer) }
  if (outcome.kind === 'failed' && outcome.offer) return { ...outcome, offer: named(outcome.offer) }
  return outcome
}
