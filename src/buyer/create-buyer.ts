import { randomUUID } from 'node:crypto'
import { dollarsToMicro } from '../protocol/amount.ts'
import { type DiscoveryCatalog, IdString } from '../protocol/catalog.ts'
import { findNetwork } from '../protocol/networks.ts'
import { errorBodyOf } from './answers.ts'
import { buyPlan, orderKey, type Purchase } from './buy-plan.ts'
import { BuyerError } from './buyer-error.ts'
import { allowedNetworks } from './buyer-networks.ts'
import type { BuyerOptions } from './buyer-options.ts'
import type { BuyerStep } from './buyer-step.ts'
import { readDocument } from './capped-body.ts'
import { checkOptions } from './check-options.ts'
import { memoryStorage } from './memory-storage.ts'
import { payingFetch } from './paying-fetch.ts'
import type { BuyerClock } from './send-until-decided.ts'
import type { SettleContext } from './settle-exchange.ts'

/**
 * Buys plans and calls within its limits, and never pays twice for one request. What fails rejects with a {@link BuyerError}.
 *
 * @example
 * async function weather(buyer: Buyer): Promise<unknown> {
 *   const answer = await buyer.fetch('https://api.example.com/weather/paris')
 *   return answer.json()
 * }
 */
export interface Buyer {
  /** What a gateway sells. */
  discover(baseUrl: string): Promise<DiscoveryCatalog>
  /**
   * Buys a plan. The same `requestId` never pays twice: it resumes what an earlier call, or an earlier process on
   * the same storage, began.
   */
  buy(
    baseUrl: string,
    order: { planId: string; requestId?: string; resourceId?: string },
  ): Promise<Purchase & { requestId: string }>
  /** Like the global fetch, but pays x402 v2 offers within the limit. */
  fetch: typeof fetch
}

/**
 * A buyer with a spending limit.
 *
 * @example
 * import { privateKeyToAccount } from 'viem/accounts'
 *
 * const buyer = createBuyer({ account: privateKeyToAccount('0x…'), maxAmount: '$1.00' })
 * const { grant } = await buyer.buy('https://api.example.com', { planId: 'basic' })
 */
export function createBuyer(options: BuyerOptions): Buyer {
  checkOptions(options)
  const { maxAmount, maxTotal, allowedHosts, rpcUrls = {} } = options
  const fetchOnce = options.fetch ?? fetch
  const onStep = (step: BuyerStep) => {
    try {
      options.onStep?.(step)
    } catch {
      // A failing `onStep` must not interrupt a payment.
    }
  }
  const context: SettleContext = {
    account: options.account,
    fetch: fetchOnce,
    allowed: allowedNetworks(options.networks),
    maxMicro: dollarsToMicro(maxAmount),
    maxTotalMicro: maxTotal === undefined ? undefined : dollarsToMicro(maxTotal),
    allowedHosts: allowedHosts && new Set(allowedHosts.map((host) => host.toLowerCase())),
    rpcUrlsOf(id) {
      const given = rpcUrls[id]
      return given === undefined ? (findNetwork(id)?.rpcUrls ?? []) : [given]
    },
    validSeconds: options.validSeconds ?? 120,
    storage: options.storage ?? memoryStorage(),
    maxWaitSeconds: options.maxWaitSeconds ?? 120,
    clock: options.clock ?? SYSTEM_CLOCK,
    onStep,
  }
  const running = new Map<string, Promise<Purchase>>()

  return {
    async discover(baseUrl) {
      const base = baseOf(baseUrl)
      const response = await fetchOnce(`${base}/discover`)
      const catalog = errorBodyOf((await readDocument(response)) ?? '') as Partial<DiscoveryCatalog>
      if (!response.ok || !Array.isArray(catalog.plans) || !Array.isArray(catalog.routes)) {
        throw new BuyerError(
          'UNEXPECTED_ANSWER',
          `GET ${base}/discover answered HTTP ${response.status} and no catalog`,
        )
      }
      onStep({ step: 'discover', baseUrl: base, catalog: catalog as DiscoveryCatalog })
      return catalog as DiscoveryCatalog
    },

    async buy(baseUrl, { planId, resourceId, requestId = randomUUID() }) {
      for (const [name, id] of Object.entries({ planId, requestId, resourceId })) {
        const checked = IdString.optional().safeParse(id)
        if (!checked.success)
          throw new BuyerError('BAD_OPTION', `${name} ${checked.error.issues[0]!.message}`)
      }
      const order = { baseUrl: baseOf(baseUrl), planId, requestId, resourceId }
      // Two calls for one order would race to sign, so the second call joins the first.
      const key = JSON.stringify([orderKey(order, options.account.address), planId, resourceId])
      let purchase = running.get(key)
      if (!purchase) {
        purchase = buyPlan(context, order).finally(() => running.delete(key))
        running.set(key, purchase)
      }
      try {
        const bought = await purchase
        onStep({ step: 'granted', txHash: bought.grant.txHash, cached: bought.cached })
        return { ...bought, requestId }
      } catch (error) {
        const code = error instanceof BuyerError ? error.code : 'FAULT'
        onStep({ step: 'refused', code, message: error instanceof Error ? error.message : String(error) })
        throw error
      }
    },

    fetch: payingFetch(context, options.maxResponseBytes ?? MAX_RESPONSE_BYTES),
  }
}

const MAX_RESPONSE_BYTES = 100 * 1024 * 1024

const SYSTEM_CLOCK: BuyerClock = {
  now: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}

function baseOf(baseUrl: string): string {
  if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new BuyerError(
      'BAD_OPTION',
      'baseUrl must be an http or https address such as "https://api.example.com"',
    )
  }
  return baseUrl.replace(/\/+$/, '')
}
