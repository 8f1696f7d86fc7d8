import { randomUUID } from 'node:crypto'
import { type AccessGrant, DEFAULT_RESOURCE_ID } from '../protocol/access.ts'
import { dollarsToMicro, microToDollars } from '../protocol/amount.ts'
import { orderKey, type PlanOrder, type Purchase } from './buy-plan.ts'
import { BuyerError } from './buyer-error.ts'
import type { CreditAccount, CreditPlace, OwnedCredits } from './owned-credits.ts'
import type { SettleContext } from './settle-exchange.ts'
import { signInAgain } from './sign-in-again.ts'

export interface TopUps {
  /**
   * Buys the plan of this account once, however many calls want it at once; `last` is the purchase that is used up.
   * Returns the requestId of what was paid. Undefined: a token is there without a payment.
   */
  buy(
    account: Pick<CreditAccount, 'last' | keyof CreditPlace>,
    unitAmount: string,
  ): Promise<string | undefined>
  /** Finishes a purchase whose payment was signed earlier, by the same payment. False: there is none. */
  finish(account: CreditAccount): Promise<boolean>
  /** Remembers the token of a purchase. */
  own(base: string, grant: AccessGrant, requestId: string): Promise<void>
}

/** Nothing was signed for the plan, so that the single call may be paid for instead. */
export class PlanNotBought extends Error {
  readonly reason: BuyerError
  constructor(reason: BuyerError) {
    super(reason.message)
    this.reason = reason
  }
}

export function createTopUps(
  context: SettleContext,
  owned: OwnedCredits,
  purchase: (order: PlanOrder) => Promise<Purchase>,
): TopUps {
  const running = new Map<string, Promise<string | undefined>>()
  const orderOf = ({ base, planId, resourceId }: CreditPlace, requestId: string): PlanOrder => ({
    baseUrl: base,
    planId,
    requestId,
    ...(resourceId !== DEFAULT_RESOURCE_ID && { resourceId }),
  })
  const signed = async (place: CreditPlace, requestId: string): Promise<boolean> =>
    (await context.storage.get(orderKey(orderOf(place, requestId), context.account.address))) !== undefined

  async function own(base: string, grant: AccessGrant, requestId: string): Promise<void> {
    const { planId, resourceId = DEFAULT_RESOURCE_ID, accessToken: token, expiresAt } = grant
    const endsAt = expiresAt === undefined ? Number.NaN : Date.parse(expiresAt)
    await owned.own(
      { base, planId, resourceId },
      { token, requestId, expiresAt: Number.isNaN(endsAt) ? null : endsAt },
    )
  }

  /** Pays, or sends the payment that was signed before, and keeps the token. */
  async function complete(place: CreditPlace, requestId: string): Promise<string> {
    try {
      const { grant } = await purchase(orderOf(place, requestId))
      await own(place.base, { ...grant, planId: place.planId, resourceId: place.resourceId }, requestId)
      return requestId
    } catch (error) {
      const isPaid = await signed(place, requestId)
      const code = error instanceof BuyerError ? error.code : undefined
      // A payment that may still count keeps its purchase open: nothing else is signed beside it.
      if (!isPaid || code === 'REFUNDED') await owned.end(place, requestId)
      const unsigned = !isPaid && code !== 'REFUNDED' && code !== 'PAYMENT_FAILED'
      throw unsigned && error instanceof BuyerError ? new PlanNotBought(error) : error
    }
  }

  async function buyOnce(
    { last, ...place }: Pick<CreditAccount, 'last' | keyof CreditPlace>,
    unitAmount: string,
  ): Promise<string | undefined> {
    if (dollarsToMicro(unitAmount) > context.maxMicro) {
      const limit = microToDollars(context.maxMicro)
      const message = `the plan ${place.planId} costs ${unitAmount} and the limit is ${limit}; raise maxPlanAmount to buy it. Nothing was signed`
      throw new PlanNotBought(new BuyerError('OVER_LIMIT', message))
    }
    // A wallet that has bought before, and lost its storage, gets its token back for nothing.
    const known = last === null ? await signInAgain(context, place).catch(() => undefined) : undefined
    if (known) {
      await own(place.base, { ...known, ...place }, known.requestId)
      return undefined
    }
    const requestId = await owned.begin(place, last, randomUUID())
    return requestId === undefined ? undefined : complete(place, requestId)
  }

  function once(place: CreditPlace, work: () => Promise<string | undefined>): Promise<string | undefined> {
    const key = JSON.stringify([place.base, place.planId, place.resourceId])
    const found = running.get(key)
    if (found) return found
    const started = work().finally(() => running.delete(key))
    running.set(key, started)
    return started
  }

  return {
    own,
    buy({ base, planId, resourceId, last }, unitAmount) {
      const place = { base, planId, resourceId }
      return once(place, () => buyOnce({ ...place, last }, unitAmount))
    },
    async finish({ base, planId, resourceId, pending }) {
      const place = { base, planId, resourceId }
      if (pending === undefined || !(await signed(place, pending))) return false
      await once(place, () => complete(place, pending))
      return true
    },
  }
}
