import type { AuthorizationStatus } from '../buyer/authorization-status.ts'
import type { PaymentStorage, StoredPayment } from '../buyer/index.ts'
import { reservationOf } from '../buyer/reservations.ts'
import type { Ledger } from './ledger.ts'
import type { OrderBook } from './order-book.ts'

/**
 * Takes payments out of the day's total that the chain shows to have expired unused: their sellers never took them, and
 * nobody has made the same call again. Orders that another process works on are left to it.
 */
export async function releaseExpired({
  book,
  payments,
  ledger,
  statusOf,
}: {
  book: OrderBook
  payments: PaymentStorage
  ledger: Ledger
  statusOf(payment: StoredPayment): Promise<AuthorizationStatus>
}): Promise<void> {
  /** A payment that cannot be read keeps its place in the total, and does not keep the others from being taken back. */
  async function expired(id: string): Promise<{ payment: StoredPayment; reservation: string } | undefined> {
    try {
      const payment = await payments.get(id)
      if (!payment || (await statusOf(payment)).kind !== 'unused') return undefined
      return { payment, reservation: reservationOf(payment) }
    } catch {
      return undefined
    }
  }

  for (const { name, id, purchase } of book.unfinished()) {
    const unlock = book.tryLock(name)
    if (!unlock) continue
    try {
      const found = await expired(id)
      if (!found) continue
      const { payment, reservation } = found
      await ledger.unused(reservation)
      await payments.forget(id, payment)
      book.open(purchase).finished()
    } finally {
      unlock()
    }
  }
}
