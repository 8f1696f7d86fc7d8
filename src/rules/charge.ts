import { RULE_DECIMALS, type StatedCharge } from '../protocol/charge-rule.ts'
import type { Token } from '../protocol/network.ts'

export type Charge =
  /** In units of the token. `above`: what was asked, if that was more than the maximum. */
  { units: bigint; above?: bigint } | { fault: string }

const MAX_TEXT = 100

/** What a call costs, in units of the token. The maximum is what the buyer signed, and nothing passes it. */
export function chargeOf(
  stated: StatedCharge | undefined,
  maximum: bigint,
  token: Pick<Token, 'decimals'>,
  unstated: 'maximum' | 'nothing' = 'maximum',
): Charge {
  if (!stated) return { units: unstated === 'nothing' ? 0n : maximum }
  const asked = stated.kind === 'amount' ? unitsOf(stated.amount, maximum, token) : unitsPer(stated, token)
  if (asked === undefined) {
    const value = stated.kind === 'amount' ? stated.amount : stated.quantity
    return { fault: `the charge ${shown(value)} is no amount` }
  }
  return asked > maximum ? { units: maximum, above: asked } : { units: asked }
}

function unitsOf(amount: unknown, maximum: bigint, token: Pick<Token, 'decimals'>): bigint | undefined {
  if (typeof amount === 'number')
    return Number.isSafeInteger(amount) && amount >= 0 ? BigInt(amount) : undefined
  if (typeof amount !== 'string' || amount.length > MAX_TEXT) return undefined
  if (/^\d+$/.test(amount)) return BigInt(amount)
  const percent = /^(\d+)(?:\.(\d{0,2}))?%$/.exec(amount)
  if (percent) {
    const hundredths = BigInt(percent[1]!) * 100n + BigInt((percent[2] ?? '').padEnd(2, '0'))
    return dividedUp(maximum * hundredths, 10_000n)
  }
  const dollars = /^\$(\d+)(?:\.(\d+))?$/.exec(amount)
  if (!dollars) return undefined
  const [, whole, fraction = ''] = dollars
  const rest = /[1-9]/.test(fraction.slice(token.decimals)) ? 1n : 0n
  return scaled(whole!, fraction, token.decimals) + rest
}

/** A fraction of the smallest unit cannot be paid, so every charge is rounded up, at the end. */
const dividedUp = (amount: bigint, by: bigint): bigint => (amount + by - 1n) / by

function unitsPer(
  { quantity, rule }: Extract<StatedCharge, { kind: 'quantity' }>,
  { decimals }: Pick<Token, 'decimals'>,
): bigint | undefined {
  if (typeof quantity !== 'number' || !Number.isFinite(quantity) || quantity < 0) return undefined
  if (quantity > Number.MAX_SAFE_INTEGER) return undefined
  const [whole, fraction = ''] = rule.unitAmount.slice(1).split('.')
  const price = scaled(whole!, fraction, RULE_DECIMALS)
  // Minutes or gigabytes may have many decimals, so all of them are multiplied: 4e-7 at $1000 is $0.0004.
  const { digits, decimals: quantityDecimals } = decimalOf(quantity)
  const product = price * digits * 10n ** BigInt(decimals)
  return dividedUp(product, 10n ** BigInt(RULE_DECIMALS + quantityDecimals))
}

/** A number as it is written, in its shortest form: 1.25e-7 is 125 with 9 decimals. */
function decimalOf(quantity: number): { digits: bigint; decimals: number } {
  const [mantissa, exponent = '0'] = String(quantity).split('e')
  const [whole, fraction = ''] = mantissa!.split('.')
  // No exponent is positive: numbers that are written so are above those that are taken.
  return { digits: BigInt(whole + fraction), decimals: fraction.length - Number(exponent) }
}

/** A decimal number in units with so many decimals; what is smaller than a unit is cut off. */
function scaled(whole: string, fraction: string, decimals: number): bigint {
  return BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'))
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, MAX_TEXT)
