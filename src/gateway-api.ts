import type { Backstage } from './backstage.ts'
import type { AccessClaims } from './delivery/access-claims.ts'
import type { ExpectedAccess, VerifyBearer } from './delivery/verify-bearer.ts'
import type { X402Words } from './dialects/x402/create-x402.ts'
import type { ClosedCredits, Intent, OfferedTerms, Outcome } from './engine/outcome.ts'
import type { ChallengeStatus } from './protocol/access.ts'
import type { DiscoveryCatalog } from './protocol/catalog.ts'
import type { ChargeRoute } from './transports/http/charge-route.ts'
import type { Peer } from './transports/http/safeguards.ts'
import type { AccessHead, VerifiedAccess } from './transports/http/verify-access.ts'

export type { AccessClaims }

/** An offer that was not stored, as its buyer repeats it. */
export interface EchoedOffer {
  /** One element of the 402's `accepts`, unchanged. */
  accepted: unknown
  /** Routes: the call that it was offered for. */
  call?: NonNullable<OfferedTerms['call']>
}

/**
 * A running gateway. What buyers do wrong is part of a result, never an exception; what callers do wrong rejects with a
 * {@link GatewayError}.
 *
 * @example
 * async function answer(request: Request, gateway: Gateway): Promise<Response> {
 *   return (await gateway.handle(request)) ?? new Response('my own page')
 * }
 */
export interface Gateway {
  /**
   * Answers every request, on a host of the gateway's own: to what it does not know, 404 with a list of its endpoints.
   *
   * @example
   * const response = await gateway.fetch(new Request('http://localhost:3000/discover'))
   */
  fetch(request: Request, peer?: Peer): Promise<Response>
  /**
   * Answers requests on a host that the gateway shares. undefined: it is not the gateway's, and the seller's own code answers.
   *
   * @example
   * const serve = async (request: Request) =>
   *   (await gateway.handle(request)) ?? new Response('my own page')
   */
  handle(request: Request, peer?: Peer): Promise<Response | undefined>
  /**
   * The page that says to people what is sold and how to buy it, for a path of your own choice. undefined: it is switched off.
   *
   * @example
   * const page = gateway.shopWindow(new Request('http://localhost:3000/shop'))
   */
  shopWindow(request: Request): Response | undefined
  /**
   * Says whether a token opens something; knows only tokens that this gateway signs.
   *
   * @example
   * const verified = await gateway.verifyBearer('Bearer …', { resourceId: 'europe' })
   * if (verified.ok) console.log(verified.claims.walletAddress)
   */
  verifyBearer: VerifyBearer
  /**
   * The same for a whole request: it brings a token, or a wallet's sign-in for its own address instead. `peer` is who
   * asks, whose sign-ins are counted; a sign-in is good once.
   *
   * @example
   * async function serve(request: Request): Promise<Response> {
   *   const verified = await gateway.verifyAccess(request, { resourceId: 'europe' }, { address: '203.0.113.7' })
   *   if (verified.ok) return Response.json({ for: verified.claims.walletAddress })
   *   const { error, extensions } = verified
   *   return Response.json({ ...error.toBody(), extensions }, { status: error.httpStatus })
   * }
   */
  verifyAccess(
    request: AccessHead,
    expected?: ExpectedAccess,
    peer?: Peer,
  ): Promise<VerifiedAccess<AccessClaims>>
  /**
   * Charges for a call that the seller's own code answers; the adapters make `payPerRequest` of it.
   *
   * @example
   * async function weather(request: Request): Promise<Response> {
   *   const charged = await gateway.chargeRoute(request, 'weather')
   *   if (charged.kind === 'respond') return charged.response
   *   if (charged.kind === 'metered') return charged.finish({ status: 200, headers: {}, body: 'clear' })
   *   await charged.finish(200)
   *   return Response.json({ sky: 'clear' }, { headers: charged.headersFor(200) })
   * }
   */
  chargeRoute: ChargeRoute
  /** What can be bought, as `GET /discover` shows it. */
  discovery: DiscoveryCatalog
  /**
   * Opens a challenge, or redeems the payment that the intent carries: for a transport of one's own.
   *
   * @example
   * const outcome = await gateway.purchase({ transport: 'http', planId: 'hourly', resourceId: 'europe' })
   * if (outcome.kind === 'challenge') console.log(outcome.offer.rails)
   */
  purchase(intent: Intent): Promise<Outcome>
  /**
   * How x402 buyers speak, for such a transport: turns their JSON into the engine's payment, and offers into theirs.
   *
   * @example
   * const payment = gateway.x402.readPayment(JSON.parse('{…}'))
   * if (!('fault' in payment)) await gateway.purchase({ transport: 'http', planId: 'hourly', payment })
   */
  x402: X402Words
  /**
   * How a purchase, or its refund, stands. undefined: not an id of this gateway.
   *
   * @example
   * const status = await gateway.status('http-…')
   * console.log(status?.state)
   */
  status(challengeId: string): Promise<ChallengeStatus | undefined>
  /**
   * Closes a challenge that nobody has paid. One that was offered and not stored is found by the terms of its 402. Rejects
   * where there is no such challenge, or where it is paid or being paid.
   *
   * @example
   * const { state } = await gateway.cancel('http-…', 'operator')
   */
  cancel(challengeId: string, actor: 'buyer' | 'operator', offered?: EchoedOffer): Promise<ChallengeStatus>
  /**
   * Tries a refund that failed once more, that of a surplus as well. Rejects where none has failed.
   *
   * @example
   * const { state } = await gateway.retryRefund('http-…')
   */
  retryRefund(challengeId: string): Promise<ChallengeStatus>
  /**
   * Takes a transaction of the operator's own for the refund that failed, once the chain confirms it. Rejects with what is
   * wrong with it.
   *
   * @example
   * const { state } = await gateway.proveRefund('http-…', '0x…')
   */
  proveRefund(challengeId: string, txHash: string): Promise<ChallengeStatus>
  /**
   * Ends a purchase of credits: at once nothing more of it can be spent, and when no call is under way any more, what
   * is unspent goes back to its payer, once. Repeated, it tells how that stands. Rejects where nothing is owed.
   *
   * @example
   * const { status, refund } = await gateway.closeCredits('http-…')
   */
  closeCredits(challengeId: string): Promise<ClosedCredits>
  /** For the operator's pages and commands only: nothing here is for buyers. */
  backstage: Backstage
  /**
   * Finishes what is in flight as far as it can, and closes the store.
   *
   * @example
   * process.once('SIGTERM', () => gateway.close())
   */
  close(): Promise<void>
}
