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
  /** Of one try, body included. Default 15,000. */
  timeoutMs?: number
  /** Before the first and the second retry. Default 250 and 1,000. */
  retryDelaysMs?: readonly number[]
}

const WHO = 'the token API'
const MAX_ANSWER_BYTES = 64 * 1024

type Try = Issued | { kind: 'again'; reason: string; detail?: string }

/**
 * Asks the seller's token endpoint. No answer, or a 5xx, is tried again: the Idempotency-Key makes repeats safe.
 * Anything else that is no credential is final, and the buyer gets the money back.
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
      // A redirect would carry the secret and the sale to a place that nobody configured.
      redirect: 'manual',
      signal,
    })
    if (!response.ok) {
      // The body of a refusal is never read: it could be huge, and says nothing that a buyer should see.
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
    // A plan taken out of the catalog after the sale is still owed; its id alone then says what was sold.
    plan: plans.find(({ planId }) => planId === order.itemId) ?? null,
    ...(order.clientAgentId !== null && { clientAgentId: order.clientAgentId }),
  }
}

/** A bare JSON string is no answer of this API: only an object has room for what the contract names. */
function parseObject(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : undefined
  } catch {
    return undefined
  }
}

/** fetch hides the reason (ECONNREFUSED, a bad certificate) in the cause. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error ? cause.message : 'no reason given'
}
