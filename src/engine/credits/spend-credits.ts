import { GatewayError } from '../../errors.ts'
import type { CallRow, CreditRow } from '../../ports.ts'
import { DAY_MS, MINUTE_MS } from '../../protocol/duration.ts'
import { type Core, randomText } from '../core.ts'
import { accountOf } from '../ownership/lots.ts'
import { endedPurchase } from '../refusals.ts'
import { type Accounts, type AccountView, ReadAgain } from './accounts.ts'
import { extend, freeOf, giveBack, isHeld, lapse, reserve, spend } from './credit-rows.ts'
import { lowEntries } from './low-credits.ts'
import type { Reservation, Spender } from './spender.ts'

export type Reserved =
  | { kind: 'reserved'; reservation: Reservation }
  /** The same call was made and debited before. `result`: its sealed answer, if that is stored. */
  | {
      kind: 'done'
      /** The plan that it was debited to. */
      planId: string
      credits: number
      remaining: number
      callKey: string
      result: string | null
      purchase: Reservation['purchase']
    }
  /** The same call is under way. */
  | { kind: 'busy' }
  | { kind: 'exhausted'; remaining: number }
  | { kind: 'refused'; error: GatewayError }

export interface PrepaidCost {
  credits: number
  /** Of the call, if the buyer gave it one. */
  idempotencyKey?: string | undefined
  /** Of route, method, path and body. */
  fingerprint: string
}

/** How long the answer of a call with an Idempotency-Key is kept. */
const CALL_KEPT_MS = DAY_MS
/** Calls per account and minute that may fail without any that is paid for. */
const FAILED_PER_MINUTE = 60
const COMMIT_TRIES = 3

export type { Reservation, Spender } from './spender.ts'

export type SpendCredits = ReturnType<typeof createSpending>

/** Reserve, then commit or give back. */
export function createSpending(core: Core, accounts: Accounts) {
  const calls = createCallCount(core)

  async function take(spender: Spender, cost: PrepaidCost): Promise<Reserved> {
    const account = accountOf(spender.account, spender.planId, spender.resourceId)
    const limited = calls.refusal(account)
    if (limited) return { kind: 'refused', error: limited }
    const callKey = callKeyOf(spender, cost.idempotencyKey)
    const id = randomText(core, 12)
    return accounts.change(account, {
      callKey,
      apply: (view) => reserveIn(core, view, { ...spender, ...cost, id, account, callKey }),
    })
  }

  return {
    take,

    /** The call was answered: debits it. An error: its answer must not go out. */
    async commit(
      reservation: Reservation,
      result: string | null,
    ): Promise<{ remaining: number } | GatewayError> {
      for (let tries = 1; ; tries++) {
        try {
          const spent = await accounts.change(reservation.account, {
            callKey: reservation.callKey,
            apply: (view) => commitIn(view, reservation, result, tries > 1),
          })
          if (!(spent instanceof GatewayError)) calls.paid(reservation.account)
          return spent
        } catch (cause) {
          // It is not known whether it was stored; asking again tells.
          if (tries >= COMMIT_TRIES) throw cause
        }
      }
    },

    async giveBack(reservation: Reservation): Promise<void> {
      calls.failed(reservation.account)
      await accounts.change(reservation.account, {
        callKey: reservation.callKey,
        apply: (view) => {
          view.put(giveBack(view.rows, reservation.id))
          if (view.call?.reservation === reservation.id && !view.call.done) view.removeCall()
        },
      })
    },

    /** The call is still being made. False: its credits were given back. */
    async renew(reservation: Reservation): Promise<boolean> {
      return accounts.change(reservation.account, {
        callKey: reservation.callKey,
        apply: (view) => {
          if (isTakenOver(view, reservation)) return false
          const until = view.now + core.config.deliveryLeaseMs
          const held = extend(view.rows, reservation.id, until)
          view.put(held)
          if (held.length > 0 && view.call) view.putCall({ ...view.call, until })
          return held.length > 0
        },
      })
    },
  }
}

interface Wanted extends Spender, PrepaidCost {
  id: string
  callKey: string | undefined
}

function reserveIn(core: Core, view: AccountView, wanted: Wanted & { account: string }): Reserved {
  const own = ownRows(view, wanted)
  if (own instanceof GatewayError) return { kind: 'refused', error: own }
  const { id, credits, callKey } = wanted
  const { now, call } = view
  const network = networkOf(view, wanted)
  // At an address with code there may be another owner on another network.
  const fingerprint = network === null ? wanted.fingerprint : `${wanted.fingerprint}@${network}`
  if (call && call.fingerprint !== fingerprint) return { kind: 'refused', error: otherCall() }
  const free = (rows: readonly CreditRow[]) => rows.reduce((sum, row) => sum + freeOf(row, now), 0)
  if (call?.done) {
    // It tells what is left, and another instance may have spent more since.
    if (!view.fresh) throw new ReadAgain()
    return doneBefore(call, own, wanted, free(own))
  }
  if (call && isUnderWay(view, call, wanted.account)) return { kind: 'busy' }
  const until = now + core.config.deliveryLeaseMs
  const current = own.map((row) => lapse(row, now))
  const changed = reserve(current, { id, credits, until, now })
  if (!changed) {
    // More may have been bought on another instance.
    if (!view.fresh) throw new ReadAgain()
    return { kind: 'exhausted', remaining: free(current) }
  }
  view.put(changed)
  if (callKey !== undefined) view.putCall(openCall(call, callKey, { ...wanted, fingerprint, until, now }))
  const remaining = free(current) - credits
  const { account, planId, resourceId } = wanted
  const [purchase] = changed
  const payer = wanted.account.split('/')[0]!
  return {
    kind: 'reserved',
    reservation: {
      ...{ id, account, planId, resourceId, payer, credits, remaining, network, purchase: purchase! },
      ...(callKey !== undefined && { callKey }),
    },
  }
}

/**
 * One name for all plans of a wallet: who signs in spends from any of them, and the call made again from another one.
 * No id contains the separator, and the buyer's key is last.
 */
function callKeyOf({ account, resourceId }: Spender, key: string | undefined): string | undefined {
  return key === undefined ? undefined : `${account}/${resourceId}/${key}`
}

function doneBefore(
  { ref, key: callKey, credits, result }: CallRow,
  own: readonly CreditRow[],
  { purchase: wanted, planId }: Spender,
  remaining: number,
): Reserved {
  const purchase = own.find(({ key }) => key === wanted) ?? own[0]
  // Its purchases ended long ago, and so nothing tells whose answer it was.
  if (!purchase) return { kind: 'exhausted', remaining }
  const paidBy = ref?.split('/')[1] ?? planId
  return { kind: 'done', planId: paidBy, credits, remaining, callKey, result, purchase }
}

/** Not if its process ended and its credits were given back: then the call is made again at once. */
function isUnderWay(view: AccountView, { until, ref, reservation }: CallRow, account: string): boolean {
  if (view.now >= until) return false
  if (ref !== account || isHeld(view.rows, reservation)) return true
  // It may have begun on another instance since these rows were read.
  if (!view.fresh) throw new ReadAgain()
  return false
}

/** Another request has made the same call since, because this one took too long. */
function isTakenOver({ call }: AccountView, { id, callKey }: Pick<Reservation, 'id' | 'callKey'>): boolean {
  return callKey !== undefined && call?.reservation !== id
}

function openCall(
  before: CallRow | undefined,
  key: string,
  {
    id,
    account,
    credits,
    fingerprint,
    until,
    now,
  }: Pick<Wanted, 'id' | 'account' | 'credits' | 'fingerprint'> & { until: number; now: number },
): CallRow {
  const base = before ?? { key, version: 0 }
  return {
    ...base,
    ref: account,
    dueAt: now + CALL_KEPT_MS,
    fingerprint,
    reservation: id,
    until,
    credits,
    done: false,
    result: null,
  }
}

/** The rows that the spender may use; an error that says why none. */
export function ownRows(view: AccountView, spender: Spender): CreditRow[] | GatewayError {
  const { rows } = view
  const { purchase, planId } = spender
  const network = networkOf(view, spender)
  const usable = () => rows.filter((row) => network === null || row.network === network)
  if (purchase === undefined) return usable()
  const own = rows.find(({ key }) => key === purchase)
  if (!own) {
    // It may have been bought a moment ago, on another instance.
    if (!view.fresh) throw new ReadAgain()
    return unauthorized(`The token's purchase grants no credits (plan ${planId}); buy a plan that does.`)
  }
  return endedPurchase(own) ?? usable()
}

/** Where alone the spender is who it is; null: its key signed, so it is the same everywhere. */
function networkOf({ rows }: AccountView, { purchase, network = null }: Spender): string | null {
  return purchase === undefined ? network : (rows.find(({ key }) => key === purchase)?.network ?? null)
}

function commitIn(
  view: AccountView,
  reservation: Reservation,
  result: string | null,
  again: boolean,
): { remaining: number } | GatewayError {
  const { planId, callKey, network } = reservation
  const spent = spend(view.rows, reservation)
  // An earlier try may have debited it, and has marked the call then.
  const wasDebited = again && (callKey === undefined || view.call?.done === true)
  const gone = spent === 'lapsed' || (spent.length === 0 && !wasDebited) || isTakenOver(view, reservation)
  if (gone) {
    const message = `The call took so long that its credits were given back; its answer is withheld, and nothing was debited (plan ${planId}).`
    return new GatewayError('SETTLEMENT_PENDING', message, { hint: 'send the same call again' })
  }
  view.put(spent)
  view.also({ audit: lowEntries(view, spent) })
  const { call } = view
  if (callKey !== undefined && call && !call.done) {
    view.putCall({ ...call, done: true, result, dueAt: view.now + CALL_KEPT_MS })
  }
  return { remaining: remainingOf(view, spent, network) }
}

function remainingOf(
  { rows, now }: AccountView,
  changed: readonly CreditRow[],
  network: string | null,
): number {
  const latest = new Map(changed.map((row) => [row.key, row]))
  const usable = rows.filter((row) => network === null || row.network === network)
  return usable.reduce((sum, row) => sum + freeOf(latest.get(row.key) ?? row, now), 0)
}

function unauthorized(message: string): GatewayError {
  return new GatewayError('UNAUTHORIZED', message)
}

function otherCall(): GatewayError {
  const message = 'This Idempotency-Key was used for another call; nothing was debited.'
  return new GatewayError('IDEMPOTENCY_CONFLICT', message)
}

/**
 * Counts the calls of each account, per minute and instance. A call that fails costs its caller nothing and the seller its
 * work: as many may fail as are paid for, and some more.
 */
function createCallCount({ clock }: Core) {
  let minute = 0
  let counts = new Map<string, { paid: number; failed: number }>()
  function of(account: string) {
    const now = Math.floor(clock.now() / MINUTE_MS)
    if (now !== minute) {
      minute = now
      counts = new Map()
    }
    let count = counts.get(account)
    if (!count) {
      count = { paid: 0, failed: 0 }
      counts.set(account, count)
    }
    return count
  }
  return {
    paid: (account: string) => void of(account).paid++,
    failed: (account: string) => void of(account).failed++,
    refusal(account: string): GatewayError | undefined {
      const { paid, failed } = of(account)
      if (failed < paid + FAILED_PER_MINUTE) return undefined
      const retryAfterSeconds = Math.ceil(((minute + 1) * MINUTE_MS - clock.now()) / 1000)
      return new GatewayError('RATE_LIMITED', 'Too many calls of this account failed within a minute.', {
        retryAfterSeconds,
      })
    },
  }
}
