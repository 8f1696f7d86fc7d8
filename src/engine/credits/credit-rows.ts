import type { ChallengeRow, CreditRow, Put } from '../../ports.ts'
import { MINUTE_MS } from '../../protocol/duration.ts'
import type { Core } from '../core.ts'
import { accountOf, LOT_KEPT_MS } from '../ownership/lots.ts'

/**
 * A reservation that lapsed is remembered so long: a call that ends late then knows that it must not be answered. Longer
 * than the clocks of two instances may differ, because one may see it lapse and another may forget it.
 */
export const LAPSED_KEPT_MS = 30 * MINUTE_MS

/** Reservations are looked at in steps of this length, so that the row's `dueAt` does not change with every call. */
export const DUE_STEP_MS = 30_000

/** The credits that a challenge grants which is being delivered: none, unless it is a plan that has some. */
export function creditsOf(core: Core, challenge: ChallengeRow, expiresAt: number | null): Put[] {
  const { key, kind, itemId, resourceId, payer, txHash, network, requestId, paidByKey, credits } = challenge
  const granted = kind === 'plan' ? (credits ?? core.config.catalog.plans.get(itemId)?.credits ?? 0) : 0
  if (granted === 0 || payer === null || txHash === null || expiresAt === null) return []
  const row: CreditRow = {
    key,
    version: 0,
    ref: accountOf(payer, itemId, resourceId),
    dueAt: expiresAt + LOT_KEPT_MS,
    granted,
    spent: 0,
    reserved: [],
    expiresAt,
    network: paidByKey ? null : network,
    paidOn: network,
    txHash,
    requestId,
  }
  return [{ table: 'credits', row }]
}

/** What is set aside for calls that are under way. */
export function reservedOf({ reserved }: CreditRow): number {
  return reserved.reduce((sum, { credits, lapsed }) => (lapsed ? sum : sum + credits), 0)
}

const hasEnded = ({ ended, expiresAt }: CreditRow, now: number): boolean => Boolean(ended) || now >= expiresAt

/** What can be reserved now. */
export function freeOf(row: CreditRow, now: number): number {
  return hasEnded(row, now) ? 0 : row.granted - row.spent - reservedOf(row)
}

/** What was neither spent nor has ended, reserved or not. */
export function unspentOf(row: CreditRow, now: number): number {
  return hasEnded(row, now) ? 0 : row.granted - row.spent
}

/** Reserves from what ends first. Undefined: these rows do not have so many. */
export function reserve(
  rows: readonly CreditRow[],
  { id, credits, until, now }: { id: string; credits: number; until: number; now: number },
): CreditRow[] | undefined {
  const changed: CreditRow[] = []
  let missing = credits
  for (const row of [...rows].sort(firstToEnd)) {
    const taken = Math.min(missing, freeOf(row, now))
    if (taken <= 0) continue
    changed.push({ ...row, reserved: [...row.reserved, { id, credits: taken, until }] })
    missing -= taken
    if (missing === 0) return changed
  }
  return undefined
}

const firstToEnd = (one: CreditRow, other: CreditRow): number =>
  one.expiresAt - other.expiresAt || (one.key < other.key ? -1 : 1)

/** The rows that hold this reservation, each changed by `change`, which returns what becomes of its part. */
function changeReserved(
  rows: readonly CreditRow[],
  id: string,
  change: (row: CreditRow, reserved: CreditRow['reserved'][number]) => CreditRow,
): CreditRow[] {
  return rows.flatMap((row) => {
    const held = row.reserved.find((reserved) => reserved.id === id)
    return held ? [change({ ...row, reserved: row.reserved.filter((other) => other !== held) }, held)] : []
  })
}

/** Does a row hold credits for this call that were not given back? */
export function isHeld(rows: readonly CreditRow[], id: string): boolean {
  return rows.some(({ reserved }) => reserved.some((held) => held.id === id && !held.lapsed))
}

/**
 * The call was answered: what was reserved is spent, all or nothing. `lapsed`: credits were given back meanwhile. Empty:
 * nothing is reserved under this id; a lapsed reservation is kept for a while, so it was spent before.
 */
export function spend(
  rows: readonly CreditRow[],
  { id, credits }: { id: string; credits: number },
): CreditRow[] | 'lapsed' {
  const parts = rows.flatMap(({ reserved }) => reserved.filter((held) => held.id === id))
  const missing = parts.reduce((left, part) => left - part.credits, credits)
  if (parts.some(({ lapsed }) => lapsed) || (parts.length > 0 && missing !== 0)) return 'lapsed'
  return changeReserved(rows, id, (row, part) => ({ ...row, spent: row.spent + part.credits }))
}

/** The call failed. */
export function giveBack(rows: readonly CreditRow[], id: string): CreditRow[] {
  return changeReserved(rows, id, (row) => row)
}

/** The call takes longer. Empty: its credits, or some of them, were given back. */
export function extend(rows: readonly CreditRow[], id: string, until: number): CreditRow[] {
  const isGone = rows.some(({ reserved }) => reserved.some((one) => one.id === id && one.lapsed))
  if (isGone) return []
  return changeReserved(rows, id, (row, one) => ({ ...row, reserved: [...row.reserved, { ...one, until }] }))
}

/** Gives back what was reserved for calls that did not end in time, and forgets what lapsed long ago. */
export function lapse(row: CreditRow, now: number): CreditRow {
  if (row.reserved.every(({ until }) => now < until)) return row
  const reserved = row.reserved.flatMap((held) => {
    if (held.lapsed) return now >= held.until + LAPSED_KEPT_MS ? [] : [held]
    // Remembered from now on, and not from its end: only who saw it lapse knows when that was.
    return now >= held.until ? [{ ...held, until: now, lapsed: true as const }] : [held]
  })
  return { ...row, reserved }
}

/**
 * When a job must look at the row again. An earlier time that it has already is kept while it is ahead: looking once too
 * often is cheaper than writing another time with every call.
 */
export function dueOf(row: CreditRow, now: number): number {
  // The last call has ended, and a job closes it.
  if (row.ended === 'closing' && reservedOf(row) === 0) return now
  const ends = row.reserved.map(({ until, lapsed }) => (lapsed ? until + LAPSED_KEPT_MS : until))
  const first = Math.min(row.expiresAt + LOT_KEPT_MS, ...ends)
  const needed = ends.length === 0 ? first : Math.ceil(first / DUE_STEP_MS) * DUE_STEP_MS
  return row.dueAt !== null && row.dueAt > now && row.dueAt <= needed ? row.dueAt : needed
}
