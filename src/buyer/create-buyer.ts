import { randomUUID } from 'node:crypto'
import { DEFAULT_RESOURCE_ID } from '../protocol/access.ts'
import { dollarsToMicro } from '../protocol/amount.ts'
import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import { findNetwork } from '../protocol/networks.ts'
import { errorBodyOf } from './answers.ts'
import { askBalance, type CreditBalance } from './ask-balance.ts'
import { buyPlan, orderKey, type PlanOrder, type Purchase } from './buy-plan.ts'
import { BuyerError } from './buyer-error.ts'
import { allowedNetworks } from './buyer-networks.ts'
import type { BuyerOptions } from './buyer-options.ts'
import type { BuyerStep } from './buyer-step.ts'
import { ANSWER_TIMEOUT_MS, readDocument } from './capped-body.ts'
import { grantsCredits, rememberCatalogs } from './catalogs.ts'
import type { CallCharge } from './charge-of.ts'
import { checkOptions, MAX_VALID_SECONDS } from './check-options.ts'
import { checkOrder } from './check-order.ts'
import { memoryCreditLog } from './credit-log.ts'
import { followRedirects } from './follow-redirects.ts'
import { memoryStorage } from './memory-storage.ts'
import { ownedCredits } from './owned-credits.ts'
import { payingFetch } from './paying-fetch.ts'
import { type BuyerClock, Unreached } from './send-until-decided.ts'
import type { SettleContext } from './settle-exchange.ts'
import { createSpending } from './spend-credits.ts'
import { createTopUps } from './top-up.ts'

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
  /** What is left of the credits that this buyer bought from the gateway at this address: a balance per plan. */
  credits(url: string): Promise<CreditBalance[]>
  /** Like the global fetch, but spends the credits that it owns, and pays x402 v2 offers within the limit. */
  fetch: typeof fetch
  /** What an answer of this buyer's `fetch` cost. Undefined: it was not paid for, or the seller does not say. */
  chargeOf(response: Response): CallCharge | undefined
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
    allowed: { ...allowedNetworks(options.networks), metered: options.metered ?? 'use' },
    maxMicro: dollarsToMicro(maxAmount),
    maxTotalMicro: maxTotal === undefined ? undefined : dollarsToMicro(maxTotal),
    allowedHosts: allowedHosts && new Set(allowedHosts.map((host) => host.toLowerCase())),
    rpcUrlsOf(id) {
      const given = rpcUrls[id]
      return given === undefined ? (findNetwork(id)?.rpcUrls ?? []) : [given]
    },
    validSeconds: options.validSeconds ?? 120,
    meteredSeconds: options.validSeconds ?? MAX_VALID_SECONDS,
    approval: approvalOf(options.approvePermit2),
    storage: options.storage ?? memoryStorage(),
    maxWaitSeconds: options.maxWaitSeconds ?? 120,
    clock: options.clock ?? SYSTEM_CLOCK,
    onStep,
    beforeSign: options.beforeSign && ((offer) => options.beforeSign!(offer)),
  }
  const running = new Map<string, Promise<Purchase>>()
  /** Two calls for one order would race to sign, so the second call joins the first. */
  async function purchase(within: SettleContext, order: PlanOrder): Promise<Purchase> {
    const { planId, resourceId } = order
    const key = JSON.stringify([orderKey(order, options.account.address), planId, resourceId])
    const purchase = running.get(key) ?? buyPlan(within, order).finally(() => running.delete(key))
    running.set(key, purchase)
    try {
      const bought = await purchase
      onStep({ step: 'granted', txHash: bought.grant.txHash, cached: bought.cached })
      return bought
    } catch (error) {
      const told = asFetchHasIt(error)
      const code = told instanceof BuyerError ? told.code : 'FAULT'
      onStep({ step: 'refused', code, message: told instanceof Error ? told.message : String(told) })
      throw error
    }
  }

  async function ask(base: string): Promise<DiscoveryCatalog> {
    const { response } = await followRedirects(
      fetchOnce,
      { url: `${base}/discover`, method: 'GET', headers: new Headers(), body: undefined },
      {
        redirect: 'follow',
        allowedHosts: context.allowedHosts,
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      },
    )
    const catalog = errorBodyOf((await readDocument(response)) ?? '') as Partial<DiscoveryCatalog>
    if (!response.ok || !Array.isArray(catalog.plans) || !Array.isArray(catalog.routes)) {
      throw new BuyerError(
        'UNEXPECTED_ANSWER',
        `GET ${base}/discover answered HTTP ${response.status} and no catalog`,
      )
    }
    return catalog as DiscoveryCatalog
  }

  const { credits: mode = 'use', maxPlanAmount = maxAmount } = options
  const planContext = { ...context, maxMicro: dollarsToMicro(maxPlanAmount) }
  const owned = ownedCredits(context.storage.credits ?? memoryCreditLog(), options.account.address)
  const topUps = createTopUps(planContext, owned, (order) => purchase(planContext, order))
  const catalogs = rememberCatalogs(ask, context.clock)
  const spend = mode === 'off' ? undefined : createSpending(context, { mode, owned, topUps, catalogs })

  const charges = new WeakMap<Response, CallCharge>()
  const maxResponseBytes = options.maxResponseBytes ?? MAX_RESPONSE_BYTES

  return {
    chargeOf: (response) => charges.get(response),

    async discover(baseUrl) {
      const base = baseOf(baseUrl)
      const catalog = await ask(base)
      catalogs.learn(base, catalog)
      onStep({ step: 'discover', baseUrl: base, catalog })
      return catalog
    },

    async buy(baseUrl, order) {
      checkOrder(order)
      const { planId, resourceId, requestId = randomUUID() } = order
      const base = baseOf(baseUrl)
      const bought = await purchase(context, { baseUrl: base, planId, requestId, resourceId }).catch(
        (error: unknown) => {
          throw asFetchHasIt(error)
        },
      )
      const grant = { ...bought.grant, planId, resourceId: resourceId ?? DEFAULT_RESOURCE_ID }
      // The plan is bought and its grant in hand; if the token cannot be kept, that is no reason to fail.
      await topUps.own(base, grant, requestId).catch(() => {})
      return { ...bought, requestId }
    },

    async credits(url) {
      const { origin } = new URL(baseOf(url))
      const balances: CreditBalance[] = []
      for (const account of await owned.at(origin)) {
        if (!account.owned) continue
        const { catalog } = await catalogs.of(account.base)
        const asked = askBalance(fetchOnce, account, account.owned)
        // A plan that is sold without credits may have had some when it was bought.
        const mayHaveNone = catalog && !grantsCredits(catalog, account)
        const balance = await (mayHaveNone ? asked.catch(() => undefined) : asked)
        if (balance && balance.granted > 0) balances.push(balance)
      }
      return balances
    },

    fetch: payingFetch(context, maxResponseBytes, charges, spend),
  }
}

/** Of a gateway that was never reached: with nothing signed, its error is that of any other fetch. */
const asFetchHasIt = (error: unknown): unknown => (error instanceof Unreached ? error.cause : error)

function approvalOf(option: boolean | string | undefined): SettleContext['approval'] {
  if (typeof option === 'string') return { amountMicro: dollarsToMicro(option) }
  return option ? {} : undefined
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
