import { microToDollars } from '../protocol/amount.ts'
import type { Token } from '../protocol/network.ts'
import { tokenUnits, unitsToDollars } from '../rules/token-amount.ts'
import type { Account } from './ledger-index.ts'

type Asked = Pick<Account, 'amount' | 'chargedUnits'>

/** What a challenge asked for, in units of the token: its price, or what a metered call cost. */
export function askedUnits({ amount, chargedUnits }: Asked, token: Token): string {
  return chargedUnits ?? tokenUnits(token, amount)
}

/** The same in dollars, of a metered call with the most that it could cost. */
export function askedWords(asked: Asked, token: Token): string {
  const most = microToDollars(BigInt(asked.amount))
  return asked.chargedUnits === undefined
    ? most
    : `${unitsToDollars(token, asked.chargedUnits)} of at most ${most}`
}
