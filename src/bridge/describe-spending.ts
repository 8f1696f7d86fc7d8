import { microToDollars } from '../protocol/amount.ts'
import type { Ledger, LedgerEntry } from './ledger.ts'

/** A payment as it is shown. */
export interface ShownPayment {
  at: string
  amount: string
  /** `signed`: it may still be charged, or nobody said that it was. `unused`: it never will be. */
  state: LedgerEntry['state']
  for: string
  payer: string
  network?: string
  transaction?: string
}

/** What the ledger says, the newest payment first. */
export async function describeSpending(
  ledger: Ledger,
  most?: number,
): Promise<{ day: string; spentToday: string; payments: ShownPayment[] }> {
  const entries = await ledger.entries()
  const payments = entries
    .map(({ id: _id, host: _host, amountMicro, ...entry }): ShownPayment => {
      return { ...entry, amount: microToDollars(amountMicro) }
    })
    .reverse()
  return {
    day: new Date().toISOString().slice(0, 10),
    spentToday: microToDollars(await ledger.spentTodayMicro()),
    payments: most === undefined ? payments : payments.slice(0, most),
  }
}
