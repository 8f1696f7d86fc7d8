import type { Delivery, FetchResourceCredentials, Order } from '../ports.ts'
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
    let timer: NodeJS.Timeout | undefined
    try {
      const late = new Promise<Issued>((resolve) => {
        const reason = `${WHO} did not answer within ${timeoutMs / 1000} s`
        timer = setTimeout(() => resolve({ kind: 'failed', reason }), timeoutMs)
      })
      const { challengeId, txHash } = order
      // Called inside an async function, so that an error thrown before the first await is caught too.
      const answer = (async () =>
        fetchResourceCredentials(order.itemId, order.resourceId, order.payer, { challengeId, txHash }))()
      return await Promise.race([answer.then((value) => readCredential(value, WHO)), late])
    } catch (error) {
      // The message is the seller's and may contain hosts or secrets, so only the operator gets it.
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
