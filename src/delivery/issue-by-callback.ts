import type { Delivery, FetchResourceCredentials, Order } from '../ports.ts'
import { inTime, tookTooLong } from './in-time.ts'
import {
  createSealedDelivery,
  type Issued,
  readCredential,
  type SealedDeliveryConfig,
} from './sealed-delivery.ts'

export interface CallbackDeliveryConfig extends SealedDeliveryConfig {
  fetchResourceCredentials: FetchResourceCredentials
  /** Default 15,000. If the function hangs, the buyer is refunded. */
  timeoutMs?: number
}

const WHO = 'fetchResourceCredentials'

export function createCallbackDelivery(config: CallbackDeliveryConfig): Delivery {
  const { fetchResourceCredentials, timeoutMs = 15_000 } = config

  async function issue(order: Order): Promise<Issued> {
    try {
      const { challengeId, txHash } = order
      // Called inside an async function, so that an error thrown before the first await is caught too.
      const answer = (async () =>
        fetchResourceCredentials(order.itemId, order.resourceId, order.payer, { challengeId, txHash }))()
      const issued = answer.then((value): Issued => readCredential(value, WHO))
      return await inTime(issued, timeoutMs, () => ({
        kind: 'failed',
        reason: tookTooLong(WHO, timeoutMs),
      }))
    } catch (error) {
      // The message is the seller's and may contain hosts or secrets, so only the operator gets it.
      return { kind: 'failed', reason: `${WHO} failed`, detail: `${WHO} threw ${describe(error)}` }
    }
  }

  return createSealedDelivery(issue, config)
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : 'something that is no Error'
}
