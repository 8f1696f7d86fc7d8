import { setTimeout as sleep } from 'node:timers/promises'
import type { Delivery, Order } from '../ports.ts'
import type { Plan } from '../protocol/catalog.ts'
import { readCapped } from './read-capped.ts'
import {
  createSealedDelivery,
  type Issued,
  readCredential,
  type SealedDeliveryConfig,
} from './sealed-delivery.ts'

export interface ApiDeliveryConfig extends SealedDeliveryConfig {
  /** ISSUE_TOKEN_API. */
  url: string
  /** ISSUE_TOKEN_API_SECRET, sent as bearer. */
  secret: string | null
  plans: readonly Plan[]
  /** For one try, with its body. Default 15,000. */
  timeoutMs?: number
  /** Waits before the first and the second retry. Default 250 and 1,000. */
  retryDelaysMs?: readonly number[]
}

const WHO = 'the token API'
const MAX_ANSWER_BYTES = 64 * 1024

type Try = Issued | { kind: 'again'; reason: string; detail?: string }

/**
 * Asks the seller's token endpoint. Without an answer, or with a 5xx, it is asked again: the Idempotency-Key makes that safe.
 * Any other answer without a credential is final, and the buyer is refunded.
 */
export function createApiDelivery(config: ApiDeliveryConfig): Delivery {
  const { timeoutMs = 15_000, retryDelaysMs = [250, 1_000] } = config

  async function issue(order: Order): Promise<Issued> {
    let tried = await tryOnce(order, config, timeoutMs)
    for (const delayMs of retryDelaysMs) {
      if (tried.kind !== 'again') break
      await sleep(delayMs)
      tried = await tryOnce(order, config, timeoutMs)
    }
    if (tried.kind !== 'again') return tried
    return { ...tried, kind: 'failed', reason: `${tried.reason} (${retryDelaysMs.length + 1} tries)` }
  }

  return createSealedDelivery(issue, config)
}

async function tryOnce(order: Order, config: ApiDeliveryConfig, timeoutMs: number): Promise<Try> {
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(config.url, {
      method: 'POST',
      headers: headersFor(order, config.secret),
      body: JSON.stringify(bodyFor(order, config.plans)),
      // A redirect would send the secret and the sale to a server that nobody configured.
      redirect: 'manual',
      signal,
    })
    if (!response.ok) {
      // The body of a refusal is not read: it could be huge, and is not for buyers.
      await response.body?.cancel().catch(() => undefined)
      const reason = `${WHO} answered ${response.status}`
      return response.status >= 500 ? { kind: 'again', reason } : { kind: 'failed', reason }
    }
    const text = await readCapped(response, MAX_ANSWER_BYTES)
    if (text === undefined)
      return { kind: 'failed', reason: `${WHO} answered more than ${MAX_ANSWER_BYTES} bytes` }
    return readCredential(parseObject(text), WHO)
  } catch (error) {
    if (signal.aborted) return { kind: 'again', reason: `${WHO} did not answer within ${timeoutMs / 1000} s` }
    return {
      kind: 'again',
      reason: `${WHO} cannot be reached`,
      detail: `${WHO} cannot be reached: ${causeOf(error)}`,
    }
  }
}

function headersFor(order: Order, secret: string | null): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: 'application/json',
    'idempotency-key': order.challengeId,
    ...(secret !== null && { authorization: `Bearer ${secret}` }),
  }
}

function bodyFor(order: Order, plans: readonly Plan[]) {
  return {
    challengeId: order.challengeId,
    requestId: order.requestId,
    planId: order.itemId,
    resourceId: order.resourceId,
    walletAddress: order.payer,
    txHash: order.txHash,
    amount: order.amount,
    network: order.network,
    // A plan that was removed from the catalog after the sale must still be delivered; then only its id is known.
    plan: plans.find(({ planId }) => planId === order.itemId) ?? null,
    ...(order.clientAgentId !== null && { clientAgentId: order.clientAgentId }),
  }
}

/** The answer must be an object: a JSON string alone is not accepted here, since it has no room for the other members. */
function parseObject(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : undefined
  } catch {
    return undefined
  }
}

/** fetch has the reason (ECONNREFUSED, a bad certificate) in the cause of its error. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error ? cause.message : 'no reason given'
}
