import type { Delivery, FetchResourceCredentials, Order } from '../ports.ts'
import {
  createSealedDelivery,
  type Issued,
  readCredential,
  type SealedDeliveryConfig,
} from './sealed-delivery.ts'

export interface CallbackDeliveryConfig extends SealedDeliveryConfig {
  fetchResourceCredentials: FetchResourceCredentials
  /** Default 15,000. Code that hangs must not hold the buyer's money for ever. */
  timeoutMs?: number
}

const WHO = 'fetchResourceCredentials'

export function createCallbackDelivery(config: CallbackDeliveryConfig): Delivery {
  const { fetchResourceCredentials, timeoutMs = 15_000 } = config

  async function issue(order: Order): Promise<Issued> {
    let timer: NodeJS.Timeout | undefined
    try {
      const late = new Promise<Issued>((resolve) => {
        const reason = `${WHO} did not answer within ${timeoutMs / 1000} s`
        timer = setTimeout(() => resolve({ kind: 'failed', reason }), timeoutMs)
      })
      const { challengeId, txHash } = order
      // Called inside the promise, so that code which throws before its first await is caught as well.
      const answer = (async () =>
        fetchResourceCredentials(order.itemId, order.resourceId, order.payer, { challengeId, txHash }))()
      return await Promise.race([answer.then((value) => readCredential(value, WHO)), late])
    } catch (error) {
      // The text is the seller's own and may name hosts or secrets: it goes to the operator, not to the buyer.
      return { kind: 'failed', reason: `${WHO} failed`, detail: `${WHO} threw ${describe(error)}` }
    } finally {
      clearTimeout(timer)
    }
  }

  return createSealedDelivery(issue, config)
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : 'something that is no Error'
}
