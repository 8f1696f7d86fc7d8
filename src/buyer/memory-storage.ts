import { memoryCreditLog } from './credit-log.ts'
import type { PaymentStorage, StoredPayment } from './payment-storage.ts'

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
      // A dropped reservation can no longer be released, so it counts as spent.
      if (reserved.size > maxPayments) reserved.delete(reserved.keys().next().value!)
      return true
    },
    async release(id) {
      totalMicro -= reserved.get(id) ?? 0n
      reserved.delete(id)
    },
  }
}
