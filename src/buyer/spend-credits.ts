import { DEFAULT_RESOURCE_ID } from '../protocol/access.ts'
import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import type { BuyerError } from './buyer-error.ts'
import { type Catalogs, creditPlan, creditRoute } from './catalogs.ts'
import type { Outgoing } from './follow-redirects.ts'
import type { CreditAccount, OwnedCredits, OwnedToken } from './owned-credits.ts'
import { sendPrepaid } from './send-prepaid.ts'
import type { SettleContext } from './settle-exchange.ts'
import { PlanNotBought, type TopUps } from './top-up.ts'

/** A call, with the key that names it. */
export interface PrepaidCall {
  call: Outgoing
  key: string
  signal: AbortSignal
  /** Sends the call without a token or payment. `isHere`: it was not redirected. */
  ask(): Promise<{ response: Response; isHere: boolean }>
}

export type Spent =
  | { kind: 'answered'; response: Response }
  /** The call has to be paid for. `terms`: an answer to it without a payment, which is not asked for again. `planRefused`: why no plan was bought. */
  | { kind: 'unpaid'; terms?: Response | undefined; planRefused?: BuyerError | undefined }

export interface CreditParts {
  mode: 'use' | 'buy'
  owned: OwnedCredits
  topUps: TopUps
  catalogs: Catalogs
}

interface Candidate extends CreditAccount {
  owned: OwnedToken
}

/** How often one call waits for a plan to be bought, if others spend it first. */
const MAX_TOP_UPS = 3

/**
 * Makes a call with credits: those that are owned first, then, if the caller wants it, of a plan that is bought for
 * it. A call that cannot be made so is left to be paid for.
 */
export function createSpending(
  context: SettleContext,
  { mode, owned, topUps, catalogs }: CreditParts,
): (prepaid: PrepaidCall) => Promise<Spent> {
  /** Purchases that this process tried to finish unasked; once is enough, because that may take a while. */
  const tried = new Set<string>()

  /** The accounts that this call can be debited to, the soonest to expire first. */
  async function candidates(call: Outgoing, accounts: readonly CreditAccount[]): Promise<Candidate[]> {
    const found: Candidate[] = []
    for (const account of accounts) {
      if (!account.owned || (account.owned.expiresAt ?? Number.POSITIVE_INFINITY) <= context.clock.now())
        continue
      const catalog = await catalogs.of(account.base)
      if (catalog && grants(catalog, account) && creditRoute(catalog, account.base, call))
        found.push({ ...account, owned: account.owned })
    }
    return found.sort((one, other) => (one.owned.expiresAt ?? 0) - (other.owned.expiresAt ?? 0))
  }

  /** Finishes what was signed before. Where nothing was asked for, a failure of it does not stop the call. */
  async function finishSigned(accounts: readonly CreditAccount[]): Promise<boolean> {
    let finished = false
    for (const account of accounts) {
      if (account.pending === undefined || (mode === 'use' && tried.has(account.pending))) continue
      tried.add(account.pending)
      try {
        finished = (await topUps.finish(account)) || finished
      } catch (error) {
        if (mode === 'buy' && !(error instanceof PlanNotBought)) throw error
      }
    }
    return finished
  }

  /** Where a plan for this call can be bought, and its price. */
  async function toBuy(call: Outgoing, accounts: readonly CreditAccount[], planId: string | undefined) {
    const { origin } = new URL(call.url)
    const bases = new Set([...accounts.map(({ base }) => base), ...catalogs.basesAt(origin), origin])
    for (const base of bases) {
      const catalog = await catalogs.of(base)
      const route = catalog && creditRoute(catalog, base, call)
      const plan = route && creditPlan(catalog, route, planId)
      if (!plan) continue
      const own = accounts.find((account) => account.base === base && account.planId === plan.planId)
      const { resourceId = DEFAULT_RESOURCE_ID, last = null } = own ?? {}
      return { account: { base, planId: plan.planId, resourceId, last }, unitAmount: plan.unitAmount }
    }
    return undefined
  }

  return async ({ call, key, signal, ask }) => {
    const { origin } = new URL(call.url)
    const emptied = new Set<string>()
    let terms: Response | undefined
    let topUpPlan: string | undefined
    for (let topUpsLeft = mode === 'buy' ? MAX_TOP_UPS : 0; ; ) {
      const accounts = await owned.at(origin)
      const roundOf = ({ owned: { token }, last }: Candidate) => `${token} ${last}`
      const candidate = (await candidates(call, accounts)).find((one) => !emptied.has(roundOf(one)))
      if (candidate) {
        const { token, requestId } = candidate.owned
        const answer = await sendPrepaid(context, call, { token, key, signal })
        if (answer.kind === 'answered') {
          const { response, debit } = answer
          if (debit) context.onStep({ step: 'debited', planId: candidate.planId, ...debit })
          return { kind: 'answered', response }
        }
        if (answer.kind === 'unpaid') {
          catalogs.forget(candidate.base)
          return { kind: 'unpaid', terms: answer.response }
        }
        emptied.add(roundOf(candidate))
        if (answer.kind === 'exhausted') {
          await terms?.body?.cancel()
          terms = answer.response
          topUpPlan = answer.planId
        } else if (answer.byGateway) await owned.end(candidate, requestId)
        continue
      }
      if (await finishSigned(accounts)) continue
      if (topUpsLeft-- === 0) return { kind: 'unpaid', terms }
      if (!terms) {
        // Only what asks for money here is worth a plan.
        const asked = await ask()
        terms = asked.response
        if (terms.status !== 402 || !asked.isHere) return { kind: 'unpaid', terms }
      }
      const wanted = await toBuy(call, accounts, topUpPlan)
      if (!wanted) return { kind: 'unpaid', terms }
      try {
        await topUps.buy(wanted.account, wanted.unitAmount)
      } catch (error) {
        if (error instanceof PlanNotBought) return { kind: 'unpaid', terms, planRefused: error.reason }
        throw error
      }
      signal.throwIfAborted()
    }
  }
}

const grants = ({ plans }: DiscoveryCatalog, { planId }: CreditAccount): boolean =>
  plans.some((plan) => plan.planId === planId && (plan.credits ?? 0) > 0)
