import { dollarsToMicro, microToDollars, priceFault } from '../protocol/amount.ts'
import { isObject, type JsonObject } from './local-refs.ts'

export type Price = { free: true } | { unitAmount: string }
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

export const microOf = (price: Price): bigint => ('free' in price ? 0n : dollarsToMicro(price.unitAmount))

export const priceWords = (price: Price): string => ('free' in price ? 'free' : price.unitAmount)
