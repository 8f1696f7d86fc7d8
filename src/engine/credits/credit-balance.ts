import type { GatewayError } from '../../errors.ts'
import { accountOf } from '../ownership/lots.ts'
import { type Accounts, ReadAgain } from './accounts.ts'
import { freeOf, lapse, reservedOf } from './credit-rows.ts'
import { ownRows } from './spend-credits.ts'
import type { CreditBalance, Spender } from './spender.ts'

export type { CreditBalance } from './spender.ts'

export async function balanceOf(accounts: Accounts, spender: Spender): Promise<CreditBalance | GatewayError> {
  const { account, planId, resourceId } = spender
  const ref = accountOf(account, planId, resourceId)
  return accounts.change(ref, {
    apply(view) {
      // Another instance may have spent or added some.
      if (!view.fresh) throw new ReadAgain()
      const own = ownRows(view, spender)
      if (!Array.isArray(own)) return own
      const running = own
        .filter((row) => !row.ended && view.now < row.expiresAt)
        .map((row) => lapse(row, view.now))
        .sort((one, other) => one.expiresAt - other.expiresAt)
      const sum = (of: (row: (typeof running)[number]) => number) =>
        running.reduce((all, row) => all + of(row), 0)
      return {
        planId,
        resourceId,
        granted: sum(({ granted }) => granted),
        spent: sum(({ spent }) => spent),
        reserved: sum(reservedOf),
        remaining: sum((row) => freeOf(row, view.now)),
        expiresAt: running.at(-1)?.expiresAt ?? null,
        lots: running.map((row) => ({
          challengeId: row.key,
          granted: row.granted,
          spent: row.spent,
          remaining: freeOf(row, view.now),
          expiresAt: row.expiresAt,
        })),
      }
    },
  })
}
