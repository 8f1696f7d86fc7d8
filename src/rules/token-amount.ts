import type { Token } from '../protocol/network.ts'

/** Prices are in micro-dollars; a token that is worth a dollar may have more than six decimals. */
const MICRO_DECIMALS = 6

const scaleOf = ({ decimals }: Pick<Token, 'decimals'>): bigint => 10n ** BigInt(decimals - MICRO_DECIMALS)

/** A price in units of the token. */
export function tokenUnits(token: Pick<Token, 'decimals'>, micro: string): string {
  return token.decimals === MICRO_DECIMALS ? micro : (BigInt(micro) * scaleOf(token)).toString()
}

/** Units of the token as a price; undefined if they are not a whole number of micro-dollars. */
export function microDollars(token: Pick<Token, 'decimals'>, units: string): string | undefined {
  if (token.decimals === MICRO_DECIMALS) return units
  const scale = scaleOf(token)
  const amount = BigInt(units)
  return amount % scale === 0n ? (amount / scale).toString() : undefined
}

/** Units of the token in micro-dollars, rounded down. */
export function roundedMicroDollars(token: Pick<Token, 'decimals'>, units: string): bigint {
  return BigInt(units) / scaleOf(token)
}

/** Units of the token in micro-dollars, rounded up: what was charged is never told as nothing. */
export function chargedMicroDollars(token: Pick<Token, 'decimals'>, units: string): string {
  const scale = scaleOf(token)
  return ((BigInt(units) + scale - 1n) / scale).toString()
}

/** Units of the token in dollars, to the last unit: at least two decimals, and no zeros beyond them. */
export function unitsToDollars({ decimals }: Pick<Token, 'decimals'>, units: string): string {
  const digits = units.padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return `$${digits.slice(0, -decimals)}.${fraction.padEnd(2, '0')}`
}
