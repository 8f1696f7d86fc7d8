import { askPermit, useStatus } from './authorization-status.ts'
import type { PaymentStorage } from './payment-storage.ts'
import { readReservation } from './reservations.ts'
import type { BuyerClock } from './send-until-decided.ts'

export interface ReviewContext {
  fetch: typeof fetch
  storage: PaymentStorage
  clock: BuyerClock
  /** In order of preference. */
  rpcUrlsOf(network: string): readonly string[]
}

/** Most that are asked about at once; the others are reviewed the next time. */
const MAX_REVIEWED = 16

/**
 * Takes back the maxima of metered payments that expired uncharged, as the chain says. Of one that was used, and whose
 * charge could not be proved at the time, the maximum counts for good. True: something was taken back.
 */
export async function reviewReservations({
  fetch: fetchOnce,
  storage,
  clock,
  rpcUrlsOf,
}: ReviewContext): Promise<boolean> {
  const nowMs = clock.now()
  const open = (await storage.uncharged?.()) ?? []
  const reviewed = open.flatMap(({ id, amountMicro }) => {
    const payment = readReservation(id)
    return payment ? [{ id, amountMicro, payment }] : []
  })
  const ended = reviewed.filter(({ payment }) => Number(payment.validBefore) * 1000 < nowMs)
  const statuses = await Promise.all(
    ended.slice(0, MAX_REVIEWED).map(async ({ id, amountMicro, payment }) => {
      const { network, from, nonce } = payment
      const question = () => askPermit(from, nonce)
      const { kind } = await useStatus(fetchOnce, payment, question, rpcUrlsOf(network), nowMs)
      if (kind === 'unused') await storage.release(id)
      if (kind === 'used') await storage.charge?.(id, amountMicro)
      return kind
    }),
  )
  return statuses.includes('unused')
}
