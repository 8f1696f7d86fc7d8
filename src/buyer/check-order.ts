import { IdString } from '../protocol/catalog.ts'
import { optionFaults } from '../protocol/option-faults.ts'
import type { PlanOrder } from './buy-plan.ts'
import { BuyerError } from './buyer-error.ts'

const ORDER = ['planId', 'requestId', 'resourceId']

/** Throws for an order that would buy something else than its caller means, or twice: a misspelt requestId names no order. */
export function checkOrder(order: Partial<Omit<PlanOrder, 'baseUrl'>>): void {
  const [fault] = optionFaults(order, ORDER)
  if (fault !== undefined) throw new BuyerError('BAD_OPTION', `buy: ${fault}`)
  const { planId, requestId, resourceId } = order
  if (planId === undefined) {
    const message = 'buy: planId is missing; it says which plan to buy, and discover(baseUrl) lists them'
    throw new BuyerError('BAD_OPTION', message)
  }
  for (const [name, id] of Object.entries({ planId, requestId, resourceId })) {
    const checked = IdString.optional().safeParse(id)
    if (!checked.success) throw new BuyerError('BAD_OPTION', `${name} ${checked.error.issues[0]!.message}`)
  }
}
