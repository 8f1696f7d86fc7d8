import { DEFAULT_RESOURCE_ID } from '../protocol/access.ts'
import { type BoughtPlan, type Exhaustion, planOfNoUse, whyExhausted } from './bought-plan.ts'
import { BuyerError } from './buyer-error.ts'
import { type Catalogs, creditPlan, creditRoute, grantsCredits } from './catalogs.ts'
import { createDebits } from './debits.ts'
import type { Outgoing } from './follow-redirects.ts'
import type { CreditAccount, OwnedCredits, OwnedToken } from './owned-credits.ts'
import { type PrepaidAnswer, sendPrepaid } from './send-prepaid.ts'
import type { SettleContext } from './settle-exchange.ts'
import { PlanNotBought, type TopUps } from './top-up.ts'

/** A call, with the key that names it. */
export interface PrepaidCall {
  call: Outgoing
  key: string
  /** The same call may have been made under this key before, and debited. */
  mayBeRepeat: boolean
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
  /** Credits that the call costs. */
  cost: number
  /** Its plan is no longer sold with credits, or never was: what was bought before may be left. */
  isFormer: boolean
}

/** A gateway where a plan was bought, and which cannot be asked which calls take its credits. */
type Unasked = CreditAccount & { why: string }

/**
 * Makes a call with credits: those that are owned first, then, if the caller wants it, of a plan that is bought for
 * it. A call that cannot be made so is left to be paid for, unless a plan was paid for it: a seller gets money for one
 * call once.
 */
export function createSpending(
  context: SettleContext,
  { mode, owned, topUps, catalogs }: CreditParts,
): (prepaid: PrepaidCall) => Promise<Spent> {
  /** Purchases that this process tried to finish unasked; once is enough, because that may take a while. */
  const tried = new Set<string>()
  const debits = createDebits()
  /** Tokens of former plans, each with what it has too little for: these are sent no more. */
  const usedUp = new Set<string>()
  const costOf = (token: string, cost: number) => `${token} ${cost}`

  /** The accounts that this call can be debited to, the soonest to expire first, and one of which that is not known. */
  async function candidates(
    call: Outgoing,
    accounts: readonly CreditAccount[],
  ): Promise<{ found: Candidate[]; unasked: Unasked | undefined }> {
    const found: Candidate[] = []
    let unasked: Unasked | undefined
    for (const account of accounts) {
      if (!account.owned || (account.owned.expiresAt ?? Number.POSITIVE_INFINITY) <= context.clock.now())
        continue
      const asked = await catalogs.of(account.base)
      if (!asked.catalog) {
        unasked = { ...account, why: asked.why }
        continue
      }
      const { catalog } = asked
      const route = creditRoute(catalog, account.base, call)
      if (!route) continue
      const isFormer = !grantsCredits(catalog, account)
      const cost = route.credits ?? 0
      if (isFormer && usedUp.has(costOf(account.owned.token, cost))) continue
      found.push({ ...account, owned: account.owned, cost, isFormer })
    }
    found.sort((one, other) => (one.owned.expiresAt ?? 0) - (other.owned.expiresAt ?? 0))
    return { found, unasked }
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
      const { catalog } = await catalogs.of(base)
      const route = catalog && creditRoute(catalog, base, call)
      const plan = route && creditPlan(catalog, route, planId)
      if (!plan) continue
      const own = accounts.find((account) => account.base === base && account.planId === plan.planId)
      const { resourceId = DEFAULT_RESOURCE_ID, last = null } = own ?? {}
      const account = { base, planId: plan.planId, resourceId, last }
      const { unitAmount, credits: granted = 0 } = plan
      return { account, unitAmount, granted, cost: route.credits ?? 0 }
    }
    return undefined
  }

  return async ({ call, key, mayBeRepeat, signal, ask }) => {
    const { origin } = new URL(call.url)
    const emptied = new Set<string>()
    let terms: Response | undefined
    let topUpPlan: string | undefined
    let unasked: Unasked | undefined
    /** The plan that was paid for this call, and what came of it. */
    let bought: (BoughtPlan & { answer?: PrepaidAnswer; why?: Exhaustion; triedAgain?: true }) | undefined
    const leaveUnpaid = async (planRefused?: BuyerError): Promise<Spent> => {
      if (bought) throw await planOfNoUse(bought, bought.answer, planRefused)
      if (unasked) {
        // What is free is no matter of credits.
        terms ??= (await ask()).response
        if (terms.status === 402) {
          await terms.body?.cancel()
          catalogs.forget(unasked.base)
          throw creditsUnknown(unasked)
        }
      }
      return { kind: 'unpaid', terms, planRefused }
    }
    for (;;) {
      const accounts = await owned.at(origin)
      const roundOf = ({ owned: { token }, last }: Candidate) => `${token} ${last}`
      const possible = await candidates(call, accounts)
      unasked = possible.unasked
      const candidate = possible.found.find((one) => !emptied.has(roundOf(one)))
      if (candidate) {
        const { token, requestId } = candidate.owned
        const answer = await debits.count(candidate, candidate.cost, () =>
          sendPrepaid(context, call, { token, key, mayBeRepeat, signal }),
        )
        if (answer.kind === 'answered') {
          const { response, debit } = answer
          if (debit) context.onStep({ step: 'debited', planId: candidate.planId, ...debit })
          // The call is made and paid for; if that cannot be recorded, it is no reason to fail.
          if (debit?.charged && candidate.last) await owned.spent(candidate, candidate.last).catch(() => {})
          return { kind: 'answered', response }
        }
        if (bought) bought.answer = answer
        // Calls under way may still give some back.
        const isLasting = answer.kind !== 'refused' && debits.underWay(candidate).length === 0
        if (candidate.isFormer && isLasting) usedUp.add(costOf(token, candidate.cost))
        if (answer.kind === 'unpaid' && !candidate.isFormer) {
          catalogs.forget(candidate.base)
          terms = answer.response
          return leaveUnpaid()
        }
        emptied.add(roundOf(candidate))
        if (answer.kind === 'unpaid') {
          await terms?.body?.cancel()
          terms = answer.response
        } else if (answer.kind === 'exhausted') {
          await terms?.body?.cancel()
          terms = answer.response
          topUpPlan = answer.planId
          if (!bought) continue
          bought.why = await whyExhausted(bought, debits)
          // What other calls had reserved may have been given back.
          if (bought.why === 'reserved' && !bought.triedAgain) emptied.delete(roundOf(candidate))
          bought.triedAgain = true
        } else if (answer.byGateway) await owned.end(candidate, requestId)
        continue
      }
      const isSpent =
        bought?.why === 'spent' || accounts.some((one) => one.spentElsewhere === bought?.requestId)
      if (bought && !isSpent) return leaveUnpaid()
      if (await finishSigned(accounts)) continue
      if (mode !== 'buy' || unasked) return leaveUnpaid()
      if (!terms) {
        // Only what asks for money here is worth a plan.
        const asked = await ask()
        terms = asked.response
        if (terms.status !== 402 || !asked.isHere) return leaveUnpaid()
      }
      const wanted = await toBuy(call, accounts, topUpPlan)
      if (!wanted) return leaveUnpaid()
      const { account, ...plan } = wanted
      try {
        const requestId = await topUps.buy(account, plan.unitAmount)
        if (requestId !== undefined) {
          bought = { ...plan, place: account, requestId, debitedBefore: debits.at(account) }
          await terms.body?.cancel()
        }
      } catch (error) {
        if (error instanceof PlanNotBought) return leaveUnpaid(error.reason)
        throw error
      }
      signal.throwIfAborted()
    }
  }
}

/** Paying instead could be paying twice: the same call may have been debited, and its answer lost. */
function creditsUnknown({ base, planId, why }: Unasked): BuyerError {
  const message = `${base} cannot be asked now whether this call takes the credits of the plan ${planId}, which was bought there (${why}). Nothing was paid, since the call may have been debited before. Make the same call again, with the same Idempotency-Key if it has one; a buyer with credits: "off" pays for it instead`
  return new BuyerError('STILL_PENDING', message)
}
