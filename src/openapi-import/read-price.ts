import { dollarsToMicro, microToDollars, priceFault } from '../protocol/amount.ts'
import type { Route } from '../protocol/catalog.ts'
import { isObject, type JsonObject } from './local-refs.ts'

/** The last two differ from call to call: the seller's own server says the price, or the call is metered. No description states them. */
export type Price =
  | { free: true }
  | { unitAmount: string }
  | { priceFrom: string; maxAmount: string }
  | ({ maxAmount: string } & Metering)
type Metering = Pick<Route, 'scheme' | 'charge' | 'chargeIfUnstated' | 'stream'>
export type PriceOrFault = Price | { fault: string }

/** `"$0.01"`, `"0.01"` or `0.01`; zero and "free" cost nothing. */
export function readPrice(value: unknown): PriceOrFault {
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : ''
  if (text === '') return { fault: 'must be a price such as "$0.01"' }
  const digits = text.replace(/^\$/, '')
  if (/^(free|0+(\.0+)?)$/i.test(digits)) return { free: true }
  const fault = priceFault(`$${digits}`)
  if (fault !== undefined) return { fault: `is ${JSON.stringify(text.slice(0, 40))}; it ${fault}` }
  return { unitAmount: microToDollars(dollarsToMicro(`$${digits}`)) }
}

/** The price that a description states, in the operation, its path or for the whole of it; undefined if it states none. */
export function statedPrice(...places: readonly JsonObject[]): PriceOrFault | undefined {
  for (const place of places) {
    if (place['x-price'] !== undefined) return named('x-price', readPrice(place['x-price']))
    if (place['x-payment-info'] !== undefined) {
      return named('x-payment-info', priceOfInfo(place['x-payment-info']))
    }
  }
  return undefined
}

function priceOfInfo(info: unknown): PriceOrFault {
  const price = isObject(info) ? info.price : undefined
  if (!isObject(price)) {
    return price === undefined
      ? { fault: 'has no price, such as {"price": {"mode": "fixed", "currency": "USD", "amount": "0.01"}}' }
      : readPrice(price)
  }
  const { mode = 'fixed', currency = 'USD', amount } = price
  if (mode !== 'fixed') return { fault: 'has a price that varies; give one price for it' }
  if (currency !== 'USD' && currency !== 'USDC') return { fault: 'has a price that is not in USD' }
  return readPrice(amount)
}

const named = (name: string, price: PriceOrFault): PriceOrFault =>
  'fault' in price ? { fault: `${name} ${price.fault}` } : price

/** Of a price that is said for each call: the most that it can be. */
export function microOf(price: Price): bigint {
  if ('free' in price) return 0n
  return dollarsToMicro('maxAmount' in price ? price.maxAmount : price.unitAmount)
}

export function priceWords(price: Price): string {
  if ('free' in price) return 'free'
  if ('unitAmount' in price) return price.unitAmount
  return `${'priceFrom' in price ? 'dynamic' : 'metered'}, at most ${price.maxAmount}`
}

/** The price of a route of a configuration; undefined: it has none yet. */
export function priceOfRoute(route: Omit<Route, 'delivered'>): Price | undefined {
  const { free, unitAmount, priceFrom, maxAmount, scheme, charge, chargeIfUnstated, stream } = route
  if (free) return { free }
  // A configuration is JSON, which holds no function.
  if (typeof unitAmount === 'string') return { unitAmount }
  if (maxAmount === undefined) return undefined
  if (scheme === undefined) return priceFrom === undefined ? undefined : { priceFrom, maxAmount }
  return {
    maxAmount,
    scheme,
    ...(charge && { charge }),
    ...(chargeIfUnstated && { chargeIfUnstated }),
    ...(stream && { stream }),
  }
}
