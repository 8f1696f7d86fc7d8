import { errorBodyOf } from './answers.ts'
import { BuyerError } from './buyer-error.ts'
import { readDocument } from './capped-body.ts'
import type { Debits } from './debits.ts'
import type { CreditPlace } from './owned-credits.ts'
import type { PrepaidAnswer } from './send-prepaid.ts'

/** A plan that was paid for so that one call can be made. */
export interface BoughtPlan {
  place: CreditPlace
  requestId: string
  /** Its price in the catalog. */
  unitAmount: string
  /** Credits that it granted, and that the call costs. */
  granted: number
  cost: number
  /** Credits that this buyer had been debited here when it was bought. */
  debitedBefore: number
}

/**
 * Why a plan that was just bought is exhausted: other calls of this buyer were debited so much, or had reserved it and
 * have ended since. `unspent`: neither, so that this seller gets no more money for the call.
 */
export type Exhaustion = 'spent' | 'reserved' | 'unspent'

export async function whyExhausted(
  { place, granted, cost, debitedBefore }: BoughtPlan,
  debits: Debits,
): Promise<Exhaustion> {
  const isSpent = () => debits.at(place) - debitedBefore + cost > granted
  const others = debits.underWay(place)
  for (const ended of others) {
    if (isSpent()) break
    await ended
  }
  if (isSpent()) return 'spent'
  return others.length > 0 ? 'reserved' : 'unspent'
}

/** The call could not be made with the plan that was bought for it. Undefined: there was no token to make it with. */
export async function planOfNoUse(
  { place: { planId }, requestId, unitAmount }: BoughtPlan,
  answer: PrepaidAnswer | undefined,
  another?: BuyerError,
): Promise<BuyerError> {
  const response = answer && 'response' in answer ? answer.response : undefined
  const gateway = errorBodyOf((response && (await readDocument(response))) ?? '')
  const next = another ? `. Another was not bought: ${another.message}` : ''
  const message = `the plan ${planId} (${unitAmount}) was bought for this call, which could not be made with it: ${saidBy(answer, gateway)}. Nothing else was paid for this call${next}`
  return new BuyerError('REFUSED', message, { requestId, gateway, cause: another })
}

function saidBy(answer: PrepaidAnswer | undefined, { message }: { message?: unknown }): string {
  const more = typeof message === 'string' ? `: ${message.replace(/\.$/, '')}` : ''
  switch (answer?.kind) {
    case 'exhausted':
      return `the seller said CREDITS_EXHAUSTED${more}`
    case 'refused':
      return 'the seller refused its token (HTTP 401)'
    case 'unpaid':
      return `the seller takes no credits for it${more}`
    default:
      return 'its token has expired, or is not for this call'
  }
}
