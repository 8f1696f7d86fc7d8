import type { HoldRow, Put } from '../../ports.ts'
import { DAY_MS } from '../../protocol/duration.ts'
import { type Core, commit, getOne, randomText } from '../core.ts'

/** A hold that is not settled by then was left by a crash, and the jobs settle it. */
const SETTLED_BY_MS = 10 * 60_000
/** Longer than the day that it counts for, even if clocks differ. */
const SPENT_KEPT_MS = 2 * DAY_MS

/** How the names of the budgets for lost gas begin. They hold micro-dollars. */
export const GAS_BUDGETS = 'lost-gas:'
/** Those of versions that counted gas; their holds are settled all the same. */
const EARLIER_GAS_BUDGETS = 'gas:'
/** How the names of the budgets for unsettled metered calls begin. They hold units of the token. */
export const EXPOSURE_BUDGETS = 'exposure:'
/** How the names of the budgets for answers that go out before they are paid begin. They hold micro-dollars. */
export const STREAM_BUDGETS = 'streamed:'

export const dayOf = (at: number): number => Math.floor(at / DAY_MS)

export function secondsUntilTomorrow(now: number): number {
  return Math.ceil(((dayOf(now) + 1) * DAY_MS - now) / 1000)
}

/**
 * A hold that is not stored yet. Its key is never used twice, so it cannot collide with a hold that an earlier claim
 * left.
 */
export function newHold(core: Core, budget: string, subject: string, amount: number): HoldRow {
  const dueAt = core.clock.now() + SETTLED_BY_MS
  return {
    key: `${budget}:${randomText(core, 9)}`,
    version: 0,
    ref: budget,
    dueAt,
    subject,
    amount,
    spent: false,
  }
}

export const budgetOf = (holdKey: string): string => holdKey.slice(0, holdKey.lastIndexOf(':'))

export const putHold = (row: HoldRow): Put => ({ table: 'holds', row })

const isExposure = ({ key }: HoldRow): boolean => key.startsWith(EXPOSURE_BUDGETS)

/** What a payer owes for an unsettled call does not count for a day, but until its payment is decided. */
export function spentHold(core: Core, row: HoldRow): HoldRow {
  const keptMs = isExposure(row) ? SETTLED_BY_MS : SPENT_KEPT_MS
  return { ...row, spent: true, dueAt: core.clock.now() + keptMs }
}

/** The check of stored holds against their budget. */
export interface Budgeted {
  /** Holds for which there is no room; `later`: what is in flight now may make room. */
  over: Map<string, { later: boolean }>
  /** The amount that is certainly lost today, by all holds of this budget. */
  spent: number
  /** Of how many holds that is the sum. */
  losses: number
}

/**
 * Called after the holds are stored: if several instances take the last of a budget at once, at least all but one see
 * the others. What is larger than the whole budget is taken while nothing else is held or lost, because it could never
 * be taken otherwise.
 */
export async function withinBudget(
  core: Core,
  budget: string,
  limit: number,
  own: ReadonlySet<string>,
): Promise<Budgeted> {
  const rows = await core.store.list('holds', budget)
  const sum = (some: readonly HoldRow[]): number => some.reduce((total, { amount }) => total + amount, 0)
  const lost = rows.filter((row) => row.spent)
  const spent = sum(lost)
  let used = sum(rows.filter(({ key }) => !own.has(key)))
  const over: Budgeted['over'] = new Map()
  for (const { key, amount } of rows.filter((row) => own.has(row.key))) {
    const fits = (taken: number): boolean => taken === 0 || taken + amount <= limit
    if (!fits(used)) over.set(key, { later: fits(spent) })
    else used += amount
  }
  return { over, spent, losses: lost.length }
}

/** Returns holds, or marks them as spent. No payment depends on it, so a failure is left to the jobs. */
export async function settleHolds(
  core: Core,
  keys: readonly string[],
  as: 'returned' | 'spent',
): Promise<void> {
  if (keys.length === 0) return
  try {
    const rows = (await core.store.get('holds', keys)).filter((row) => row !== undefined)
    await Promise.all(rows.map((row) => settleHold(core, row, as)))
  } catch {
    // The jobs settle them when they are due.
  }
}

async function settleHold(core: Core, row: HoldRow, as: 'returned' | 'spent'): Promise<void> {
  if (as === 'spent') {
    if (!row.spent) await commit(core, { puts: [putHold(spentHold(core, row))], durability: 'deferred' })
    return
  }
  const { key, version } = row
  await commit(core, { puts: [], removes: [{ table: 'holds', key, version }], durability: 'deferred' })
}

/** A hold that is due: deleted if its day is over, otherwise settled by the state of its subject. */
export async function reviewHold(core: Core, row: HoldRow): Promise<void> {
  if (row.spent && !isExposure(row)) return settleHold(core, row, 'returned')
  const isOfPayment = [GAS_BUDGETS, EARLIER_GAS_BUDGETS, STREAM_BUDGETS].some((name) =>
    row.key.startsWith(name),
  )
  const verdict = isExposure(row)
    ? await exposureVerdict(core, row)
    : isOfPayment
      ? await paymentVerdict(core, row.subject)
      : await undeliveredVerdict(core, row)
  if (verdict !== 'open') return settleHold(core, row, verdict)
  await commit(core, {
    puts: [putHold({ ...row, dueAt: core.clock.now() + SETTLED_BY_MS })],
    durability: 'deferred',
  })
}

type HoldVerdict = 'open' | 'returned' | 'spent'

/** Gas, and answers that went out unpaid, are lost if the payment fails on chain or is never made. */
async function paymentVerdict(core: Core, attemptKey: string): Promise<HoldVerdict> {
  const attempt = await getOne(core, 'authorizations', attemptKey)
  switch (attempt?.phase) {
    case 'CLAIMED':
    case 'CHARGED':
    case 'BROADCAST':
      return 'open'
    case 'ABANDONED':
    case 'DEAD':
      return 'spent'
    default:
      return 'returned'
  }
}

async function exposureVerdict(core: Core, { key, subject }: HoldRow): Promise<HoldVerdict> {
  const attempt = await getOne(core, 'authorizations', subject)
  const isOpen = ['CLAIMED', 'CHARGED', 'BROADCAST'].includes(attempt?.phase ?? '')
  return isOpen && attempt?.exposure === key ? 'open' : 'returned'
}

/**
 * Those of these holds that a crash has left: their payment was released, or has another hold since it was claimed again.
 * One that was paid is not among them, because who asks may have looked at the chain before that.
 */
export async function leftByCrash(core: Core, holds: readonly HoldRow[]): Promise<Set<string>> {
  const attempts = await core.store.get(
    'authorizations',
    holds.map(({ subject }) => subject),
  )
  const left = holds.filter(({ key }, index) => {
    const attempt = attempts[index]
    return !attempt || attempt.phase === 'RELEASED' || (attempt.exposure ?? key) !== key
  })
  return new Set(left.map(({ key }) => key))
}

async function undeliveredVerdict(core: Core, { key, subject }: HoldRow): Promise<HoldVerdict> {
  const challenge = await getOne(core, 'challenges', subject)
  if (challenge?.undelivered !== key) return 'returned'
  if (challenge.state.startsWith('REFUND')) return 'spent'
  return challenge.state === 'PAID' || challenge.liveAuth !== null ? 'open' : 'returned'
}
