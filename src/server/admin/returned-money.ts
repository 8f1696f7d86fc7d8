import type { Backstage } from '../../backstage.ts'
import type { CreditsBook, ReturnedCredits } from './credits-book.ts'
import { sumMicro } from './export-sales.ts'
import { knownNetworks } from './known-networks.ts'

const PAGE = 500

/** What was paid back for unspent credits, and is still in the revenue, because its sales stay delivered. */
export interface ReturnedMoney {
  /** In micro-dollars, from this time on. */
  since(at: number): Promise<bigint>
}

/**
 * Taken from the log and the refunds, and not kept in the stored book: that counts an entry once, by whichever version of
 * paystile enters it, and earlier versions count none of these.
 */
export function createReturnedMoney(
  { store, networks }: Pick<Backstage, 'store' | 'networks'>,
  credits: Pick<CreditsBook, 'returned'>,
): ReturnedMoney {
  const known = new WeakMap<ReturnedCredits, bigint>()

  async function read(some: readonly ReturnedCredits[]): Promise<void> {
    const find = await knownNetworks(store, networks)
    const sales = await store.get(
      'challenges',
      some.map(({ challengeId }) => challengeId),
    )
    // There is one refund of credits for each purchase, and it is that of the payment.
    const refunds = await store.get(
      'refunds',
      sales.map((sale) => sale?.receipt ?? ''),
    )
    for (const [index, one] of some.entries()) {
      const refund = refunds[index]
      known.set(one, refund ? (sumMicro([refund], find) ?? 0n) : 0n)
    }
  }

  return {
    async since(at) {
      const wanted = credits.returned().filter((one) => one.at >= at)
      const unread = wanted.filter((one) => !known.has(one))
      for (let start = 0; start < unread.length; start += PAGE) await read(unread.slice(start, start + PAGE))
      return wanted.reduce((sum, one) => sum + (known.get(one) ?? 0n), 0n)
    },
  }
}
