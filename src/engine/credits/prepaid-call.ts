import { GatewayError } from '../../errors.ts'
import type { Order } from '../../ports.ts'
import type { TopUp } from '../../protocol/error-codes.ts'
import { type CatalogRoute, findSubject } from '../../rules/catalog.ts'
import { sha256 } from '../../rules/sha256.ts'
import { offerTerms, openChallenge } from '../challenge/open-challenge.ts'
import { type Core, paymentOf } from '../core.ts'
import type { Intent, PrepaidIntent, PrepaidOutcome } from '../outcome.ts'
import type { PrepaidCost, Reserved, SpendCredits } from './spend-credits.ts'
import type { Reservation, Spender } from './spender.ts'

/**
 * Makes a call that is debited instead of paid: reserve, call, debit on 2xx, and only then answer. Whatever fails gives
 * back. Embedded routes: only reserves, because the seller's handler answers.
 */
export async function prepaidCall(
  core: Core,
  spending: SpendCredits,
  intent: PrepaidIntent,
): Promise<PrepaidOutcome> {
  const { routeId, call, embedded } = intent
  const sold = findSubject(core.config.catalog, { routeId, call })
  if (sold instanceof GatewayError) return refuse(sold)
  const route = sold.item as CatalogRoute
  if (route.credits === 0) {
    const message = `Route ${routeId} takes no credits: pay for the call. Nothing was debited.`
    return refuse(new GatewayError('INVALID_REQUEST', message))
  }
  // It is compared only with an earlier call of the same key.
  const fingerprint = intent.idempotencyKey === undefined ? '' : fingerprintOf(sold.subject)
  const taken = await takeCredits(core, spending, intent, { credits: route.credits, fingerprint })
  switch (taken.kind) {
    case 'reserved':
      break
    case 'done':
      return answerAgain(core, intent, taken)
    case 'busy': {
      const message = 'The same call, by its Idempotency-Key, is under way; it is debited once.'
      return refuse(new GatewayError('SETTLEMENT_PENDING', message, { retryAfterSeconds: 1 }))
    }
    case 'exhausted':
      return exhausted(core, intent, taken.remaining, route.credits)
    case 'refused':
      return refuse(taken.error)
  }
  const { reservation } = taken
  if (embedded) {
    const debit = debitOf(reservation, reservation.credits)
    const payment = {
      ...paymentOf(core, orderOf(core, intent, reservation)),
      planId: reservation.planId,
      credits: debit,
    }
    return { kind: 'reserved', reservation, debit, payment }
  }
  return callBackend(core, spending, intent, reservation)
}

async function callBackend(
  core: Core,
  spending: SpendCredits,
  intent: PrepaidIntent,
  reservation: Reservation,
): Promise<PrepaidOutcome> {
  if (!core.backend) throw new Error(`route ${intent.routeId} has no backend`)
  let kept = false
  try {
    const called = await core.backend.call(orderOf(core, intent, reservation), intent.call)
    const { response, raw } = called
    const answer = { response, ...(raw && { raw }) }
    if (!called.ok) {
      const remaining = reservation.remaining + reservation.credits
      return {
        kind: 'prepaid',
        ...answer,
        failure: called.reason,
        debit: { ...debitOf(reservation, 0), remaining },
        cached: false,
      }
    }
    // From here on the outcome may be stored: a reservation that is left lapses by itself.
    kept = true
    const spent = await spending.commit(reservation, reservation.callKey === undefined ? null : called.sealed)
    if (spent instanceof GatewayError) return refuse(spent)
    const debit = { ...debitOf(reservation, reservation.credits), remaining: spent.remaining }
    return { kind: 'prepaid', ...answer, debit, cached: false }
  } finally {
    // If the store is away they are given back when the reservation lapses.
    if (!kept) await spending.giveBack(reservation).catch(() => undefined)
  }
}

/** Waits while the same call is under way elsewhere. A wallet that signed in spends from the first plan that suffices. */
async function takeCredits(
  core: Core,
  spending: SpendCredits,
  { spender, idempotencyKey }: PrepaidIntent,
  cost: { credits: number; fingerprint: string },
): Promise<Reserved> {
  const plans = spender.planId === undefined ? creditPlans(core) : [spender.planId]
  const deadline = core.clock.now() + core.config.settleWaitMs
  for (;;) {
    const taken = await takeFromFirst(spending, spender, plans, { ...cost, idempotencyKey })
    if (taken.kind !== 'busy' || core.clock.now() >= deadline) return taken
    await core.clock.sleep(core.config.storePollMs)
  }
}

async function takeFromFirst(
  spending: SpendCredits,
  spender: PrepaidIntent['spender'],
  plans: readonly string[],
  cost: PrepaidCost,
): Promise<Reserved> {
  let remaining = 0
  for (const planId of plans) {
    let taken = await spending.take({ ...spender, planId } satisfies Spender, cost)
    // What is left is that of the plan that was debited.
    if (taken.kind === 'done' && taken.planId !== planId && spender.purchase === undefined) {
      taken = await spending.take({ ...spender, planId: taken.planId }, cost)
    }
    if (taken.kind !== 'exhausted') return taken
    remaining = Math.max(remaining, taken.remaining)
  }
  return { kind: 'exhausted', remaining }
}

/** Those that are sold come first. */
const creditPlans = ({ config }: Core): string[] => [
  ...[...config.catalog.plans].flatMap(([planId, { credits }]) => (credits > 0 ? [planId] : [])),
  ...(config.formerCreditPlans ?? []),
]

/** The call was debited before: its stored answer, if there is one. */
async function answerAgain(
  core: Core,
  intent: PrepaidIntent,
  { planId, credits, callKey, remaining, result, purchase }: Extract<Reserved, { kind: 'done' }>,
): Promise<PrepaidOutcome> {
  const { resourceId, account: payer } = intent.spender
  const debit = { planId, charged: credits, remaining }
  const order = orderOf(core, intent, { planId, resourceId, payer, credits, remaining, purchase, callKey })
  const opened = result === null ? undefined : await core.backend?.open(order, result)
  if (opened) return { kind: 'prepaid', ...opened, debit, cached: true }
  const message =
    'This call was made and debited before, and its answer is not stored; nothing was debited again.'
  return refuse(new GatewayError('IDEMPOTENCY_CONFLICT', message))
}

/** 402: sells the single call, and names the plan that tops up. Opens no challenge by name. */
async function exhausted(
  core: Core,
  intent: PrepaidIntent,
  remaining: number,
  cost: number,
): Promise<PrepaidOutcome> {
  const { planId, resourceId } = intent.spender
  const topUp = topUpOf(core, planId)
  // Who signs in may hold more for another resource.
  const where = planId === undefined ? ` for the resource ${resourceId}` : ''
  const message = `The call costs ${cost} ${cost === 1 ? 'credit' : 'credits'} and ${remaining} are left${where}; nothing was debited.`
  const error = new GatewayError('CREDITS_EXHAUSTED', message, { ...(topUp && { topUp }) })
  const { transport, routeId, call, embedded, url } = intent
  const single: Intent = {
    transport,
    routeId,
    call,
    ...(embedded && { embedded }),
    ...(url !== undefined && { url }),
  }
  const offered = offerTerms(core, single) ?? (await openChallenge(core, single))
  // Without terms a 402 is of no use to whoever would pay for the single call: its price or chain cannot be had now.
  if (offered.kind === 'failed') return refuse(offered.error)
  return { kind: 'failed', error, ...(offered.kind === 'challenge' && { offer: offered.offer }) }
}

/** The plan of the token, or the first that has credits. */
function topUpOf({ config }: Core, wanted: string | undefined): TopUp | undefined {
  const { plans } = config.catalog
  const own = wanted !== undefined && plans.get(wanted)?.credits ? wanted : undefined
  const planId = own ?? [...plans].find(([, { credits }]) => credits > 0)?.[0]
  const plan = planId === undefined ? undefined : plans.get(planId)
  return plan && { planId: planId!, credits: plan.credits, amount: plan.amount }
}

const debitOf = ({ planId, remaining }: Reservation, charged: number) => ({ planId, charged, remaining })

/** The call as the backend sees it: the purchase that pays for it, and the debit. */
function orderOf(
  core: Core,
  { routeId, call, idempotencyKey }: PrepaidIntent,
  reservation: Pick<
    Reservation,
    'purchase' | 'planId' | 'resourceId' | 'payer' | 'credits' | 'remaining' | 'callKey'
  >,
): Order {
  const { purchase, planId, resourceId, payer, credits, remaining, callKey } = reservation
  return {
    challengeId: purchase.key,
    requestId: idempotencyKey ?? purchase.requestId,
    kind: 'route',
    itemId: routeId,
    resourceId,
    resource: { method: call.method, path: call.path },
    payer: payer as Order['payer'],
    amount: '0',
    network: purchase.paidOn,
    txHash: purchase.txHash,
    clientAgentId: null,
    paidAt: core.clock.now(),
    prepaid: { planId, credits, remaining, sealedFor: callKey ?? null },
  }
}

const refuse = (error: GatewayError): PrepaidOutcome => ({ kind: 'failed', error })

function fingerprintOf(subject: unknown): string {
  return sha256(JSON.stringify(subject))
}
