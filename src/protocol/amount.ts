import { z } from 'zod'

/** USDC has six decimals: one dollar is a million micro-units. */
export const MICRO_PER_DOLLAR = 1_000_000n

const UINT256_DIGITS = 78
const MAX_WHOLE_DIGITS = 12

/**
 * A non-negative decimal integer as on the wire: digits only, no sign, blank, exponent, hex or leading zero, and
 * never longer than a uint256.
 */
export const UintString = z
  .string()
  .regex(/^(?:0|[1-9][0-9]*)$/, 'must be a decimal integer string such as "1000000"')
  .max(UINT256_DIGITS, 'has more digits than a uint256')

/** Why a price such as `$1,000` is refused, as a message for the seller; `undefined` if it is valid. */
export function priceFault(price: string): string | undefined {
  if (!price.startsWith('$')) return 'must start with "$", for example "$1.00"'
  const digits = price.slice(1)
  if (digits.includes(',')) return 'must not contain commas, for example "$1000.00"'
  if (/\s/.test(digits)) return 'must not contain blanks, for example "$1.00"'
  if (/^[+-]/.test(digits)) return 'must not carry a sign, for example "$1.00"'
  const match = /^(\d+)(?:\.(\d+))?$/.exec(digits)
  if (!match) return 'must be "$" and a decimal number, for example "$0.01"'
  if ((match[2] ?? '').length > 6)
    return 'has more than 6 decimals; USDC counts millionths, for example "$0.000001"'
  if (match[1]!.length > MAX_WHOLE_DIGITS) return `must be at most $${'9'.repeat(MAX_WHOLE_DIGITS)}.999999`
  if (/^0*$/.test(match[1]!) && /^0*$/.test(match[2] ?? '')) return 'must be more than zero'
  return undefined
}

/** `"$1.50"` → `1500000n`. Throws on what {@link priceFault} names. */
export function dollarsToMicro(price: string): bigint {
  const fault = priceFault(price)
  if (fault) throw new RangeError(`price ${JSON.stringify(price)} ${fault}`)
  const [whole, fraction = ''] = price.slice(1).split('.')
  return BigInt(whole!) * MICRO_PER_DOLLAR + BigInt(fraction.padEnd(6, '0'))
}

/** `1500000n` → `"$1.50"`: at least two decimals, no more than needed. */
export function microToDollars(micro: bigint): string {
  const whole = micro / MICRO_PER_DOLLAR
  const fraction = (micro % MICRO_PER_DOLLAR)
    .toString()
    .padStart(6, '0')
    .replace(/0{1,4}$/, '')
  return `$${whole}.${fraction}`
}

export const PriceString = z.string().superRefine((price, context) => {
  const fault = priceFault(price)
  if (fault) context.addIssue({ code: 'custom', message: fault })
})
