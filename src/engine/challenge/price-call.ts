import { GatewayError } from '../../errors.ts'
import type { RouteCall } from '../../ports.ts'
import { dollarsToMicro, microToDollars, priceFault } from '../../protocol/amount.ts'
import type { CatalogItem } from '../../rules/catalog.ts'
import { alertOnce, type Core } from '../core.ts'
import type { Sold } from './proven-draft.ts'

const RETRY_AFTER_SECONDS = 5
const HOUR_MS = 3_600_000

/**
 * What is sold, at the price that a new offer names: the catalog's own, or one that is asked now. Without a price
 * nothing is offered. The offer's id then proves the price, so that it is not asked again when the offer is paid.
 */
export async function currentPrice(
  core: Core,
  { subject, item }: Sold,
  call: RouteCall | undefined,
): Promise<CatalogItem | GatewayError> {
  if (!item.isComputed || subject.kind !== 'route' || !call) return item
  const { routeId } = subject
  if (!core.askPrice) throw new Error(`nobody says the price of route ${routeId}`)
  const { method, path, body } = call
  let answer: unknown
  try {
    answer = await core.askPrice(routeId, { method, path, body })
  } catch (error) {
    return unavailable(core, routeId, error instanceof Error ? error.message : 'no reason was given')
  }
  if (typeof answer !== 'string') {
    return unavailable(core, routeId, `the price is a ${typeof answer}, not a text such as "$0.01"`)
  }
  const fault = priceFault(answer)
  if (fault) return unavailable(core, routeId, `the price ${JSON.stringify(answer.slice(0, 40))} ${fault}`)
  const amount = dollarsToMicro(answer)
  return amount > BigInt(item.amount)
    ? tooHigh(core, routeId, answer, item)
    : { ...item, amount: amount.toString() }
}

/** The reason may name the seller's servers, so buyers are not told it. */
function unavailable(core: Core, routeId: string, reason: string): GatewayError {
  tellSeller(
    core,
    `${routeId}/none`,
    `route ${routeId} is not sold, because its price cannot be had: ${reason}`,
  )
  const message = `The price of route ${routeId} cannot be had now; nothing was charged.`
  return new GatewayError('PRICE_UNAVAILABLE', message, { retryAfterSeconds: RETRY_AFTER_SECONDS })
}

function tooHigh(core: Core, routeId: string, price: string, { amount }: CatalogItem): GatewayError {
  const most = microToDollars(BigInt(amount))
  const why = `price ${price} of a call is above its maxAmount ${most}`
  tellSeller(core, `${routeId}/high`, `route ${routeId} is not sold, because the ${why}`)
  const message = `This call of route ${routeId} would cost more than the route's most of ${most}, so it is not sold; nothing was charged.`
  return new GatewayError('PRICE_TOO_HIGH', message)
}

/** Once an hour, route and reason: whoever asks for offers must not fill the log. */
function tellSeller(core: Core, about: string, message: string): void {
  const hour = Math.floor(core.clock.now() / HOUR_MS)
  alertOnce(core, `price/${about}/${hour}`, 'price-refused', message)
}
