import { memoryCreditLog } from './credit-log.ts'
import type { PaymentStorage, StoredPayment } from './payment-storage.ts'
import { METERED_PREFIX } from './reservations.ts'

/**
 * Keeps payments while the process lives: enough against lost answers, not against a crash. The oldest are dropped
 * beyond `maxPayments` (default 10,000).
 *
 * @example
 * import { createBuyer } from 'paystile/buyer'
 * import { privateKeyToAccount } from 'viem/accounts'
 *
 * const account = privateKeyToAccount('0x…')
 * const buyer = createBuyer({ account, maxAmount: '$1.00', storage: memoryStorage(100) })
 */
export function memoryStorage(maxPayments = 10_000): PaymentStorage {
  const payments = new Map<string, StoredPayment>()
  const reserved = new Map<string, bigint>()
  const uncharged = new Map<string, bigint>()
  let totalMicro = 0n
  return {
    credits: memoryCreditLog(maxPayments),
    async get(key) {
      return payments.get(key)
    },
    async claim(key, payment) {
      const present = payments.get(key)
      if (present) return present
      payments.set(key, payment)
      if (payments.size > maxPayments) payments.delete(payments.keys().next().value!)
      return payment
    },
    async forget(key, payment) {
      if (payments.get(key)?.header === payment.header) payments.delete(key)
    },
    async reserve(id, amountMicro, limitMicro) {
      if (totalMicro + amountMicro > limitMicro) return false
      totalMicro += amountMicro
      reserved.set(id, amountMicro)
      if (id.startsWith(METERED_PREFIX)) uncharged.set(id, amountMicro)
      // A dropped reservation can no longer be released, so it counts as spent.
      if (reserved.size > maxPayments) {
        const oldest = reserved.keys().next().value!
        reserved.delete(oldest)
        uncharged.delete(oldest)
      }
      return true
    },
    async release(id) {
      totalMicro -= reserved.get(id) ?? 0n
      reserved.delete(id)
      uncharged.delete(id)
    },
    async charge(id, amountMicro) {
      const held = uncharged.get(id)
      uncharged.delete(id)
      if (held === undefined || amountMicro >= held) return
      totalMicro -= held - amountMicro
      reserved.set(id, amountMicro)
    },
    async uncharged() {
      return [...uncharged].map(([id, amountMicro]) => ({ id, amountMicro }))
    },
  }
}
