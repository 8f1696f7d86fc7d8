import { setImmediate as turn } from 'node:timers/promises'
import type { Store } from '../../ports.ts'
import {
  addFigures,
  addLot,
  type CreditFigures,
  type CreditLot,
  lotOfEntry,
  lotOfRow,
  noFigures,
  soldIn,
} from '../../rules/credit-lot.ts'
import { returnsCredits } from '../../rules/sale-events.ts'
import { waitAtMost } from '../wait-at-most.ts'
import type { LogEntry } from './follow-log.ts'

export interface CreditsReport {
  /** When the figures were read (ms). */
  asOf: number
  totals: CreditFigures
  /** What was sold most comes first. */
  perPlan: Array<CreditFigures & { planId: string }>
  /** The wallets that have most left come first, up to a limit. */
  perWallet: Array<CreditFigures & { payer: string }>
  wallets: number
}

/** Unspent credits of this purchase were paid back. */
export interface ReturnedCredits {
  challengeId: string
  at: number
}

export interface LotQuery {
  /** A part of the payer, the plan or the challenge's id. */
  q?: string | undefined
  status?: string | undefined
  /** The `next` of an earlier answer. */
  before?: number | undefined
  limit: number
}

/**
 * Credits sold, spent and outstanding. The log says which purchases there are and how those ended whose rows are
 * removed; the others are read from their rows, which change with every call.
 */
export interface CreditsBook {
  /** Called with every entry of the log, in order. */
  note(entry: LogEntry): void
  /** Reads the rows again unless that was done a moment ago; waits for a second at most. */
  refresh(): Promise<void>
  report(): CreditsReport
  /** In the order of the log. */
  returned(): readonly ReturnedCredits[]
  /** Purchases whose rows are still stored, the newest first. */
  find(query: LotQuery): { found: CreditLot[]; next: number | null; total: number }
}

const PAGE = 500
const WAIT_MS = 1_000
const KEPT_MS = 2_000
/** Of the time, at most one part in so many is spent on reading. */
const SHARE = 20
const SHOWN_WALLETS = 20

interface Live {
  /** Its position among all purchases, oldest first. */
  place: number
  /** Undefined: not read yet. */
  lot: CreditLot | undefined
}

export function createCreditsBook(store: Pick<Store, 'get'>, now: () => number): CreditsBook {
  const live = new Map<string, Live>()
  /** Purchases of which something was logged since they were read. */
  const changed = new Set<string>()
  const endedPlans = new Map<string, CreditFigures>()
  const endedWallets = new Map<string, CreditFigures>()
  const returned: ReturnedCredits[] = []
  let places = 0
  let readAt = 0
  let staleAt = 0
  let reading: Promise<void> | undefined
  let made: CreditsReport | undefined

  async function read(ids: readonly string[]): Promise<void> {
    for (let start = 0; start < ids.length; start += PAGE) {
      const some = ids.slice(start, start + PAGE)
      const rows = await store.get('credits', some)
      for (const [index, id] of some.entries()) {
        const known = live.get(id)
        const row = rows[index]
        // A row that was removed a moment ago is as it was until the log tells how it ended.
        if (known && row) known.lot = lotOfRow(row, now())
      }
      if (rows.length === PAGE) await turn()
    }
    made = undefined
  }

  async function readChanges(): Promise<void> {
    const startedAt = now()
    const all = startedAt >= staleAt
    const ids = all ? [...live.keys()] : [...changed].filter((id) => live.has(id))
    changed.clear()
    if (ids.length > 0) await read(ids)
    if (!all) return
    readAt = startedAt
    staleAt = now() + Math.max(KEPT_MS, SHARE * (now() - startedAt))
    made = undefined
  }

  function makeReport(): CreditsReport {
    const plans = copyOf(endedPlans)
    const wallets = copyOf(endedWallets)
    const totals = noFigures()
    for (const { lot } of live.values()) {
      if (!lot) continue
      addLot(sumsOf(plans, lot.planId), lot)
      addLot(sumsOf(wallets, lot.payer), lot)
    }
    for (const figures of plans.values()) addFigures(totals, figures)
    return {
      asOf: readAt,
      totals,
      perPlan: [...plans]
        .map(([planId, figures]) => ({ planId, ...figures }))
        .sort((a, b) => b.sold - a.sold || (a.planId < b.planId ? -1 : 1)),
      perWallet: [...wallets]
        .map(([payer, figures]) => ({ payer, ...figures }))
        .sort((a, b) => b.outstanding - a.outstanding || b.sold - a.sold || (a.payer < b.payer ? -1 : 1))
        .slice(0, SHOWN_WALLETS),
      wallets: wallets.size,
    }
  }

  return {
    note(entry) {
      const { challengeId } = entry
      if (soldIn(entry) > 0 && !live.has(challengeId)) {
        places += 1
        live.set(challengeId, { place: places, lot: undefined })
      }
      if (live.has(challengeId)) changed.add(challengeId)
      if (returnsCredits(entry)) returned.push({ challengeId, at: entry.at })
      const ended = lotOfEntry(entry)
      if (!ended) return
      live.delete(challengeId)
      addLot(sumsOf(endedPlans, ended.planId), ended)
      addLot(sumsOf(endedWallets, ended.payer), ended)
      made = undefined
    },
    async refresh() {
      reading ??= readChanges().finally(() => {
        reading = undefined
      })
      await waitAtMost(WAIT_MS, reading)
    },
    report() {
      made ??= makeReport()
      return made
    },
    returned: () => returned,
    find({ q, status, before = Number.POSITIVE_INFINITY, limit }) {
      const text = q?.trim().toLowerCase() ?? ''
      const matching = [...live.values()].flatMap(({ place, lot }) => {
        if (!lot || (status !== undefined && lot.status !== status)) return []
        const all = `${lot.payer}\n${lot.planId}\n${lot.challengeId}`
        return text === '' || all.toLowerCase().includes(text) ? [{ place, lot }] : []
      })
      const rest = matching.filter(({ place }) => place < before).reverse()
      const found = rest.slice(0, limit)
      return {
        found: found.map(({ lot }) => lot),
        next: rest.length > limit ? found.at(-1)!.place : null,
        total: matching.length,
      }
    },
  }
}

function sumsOf(sums: Map<string, CreditFigures>, name: string): CreditFigures {
  let figures = sums.get(name)
  if (!figures) {
    figures = noFigures()
    sums.set(name, figures)
  }
  return figures
}

const copyOf = (sums: ReadonlyMap<string, CreditFigures>): Map<string, CreditFigures> =>
  new Map([...sums].map(([name, figures]) => [name, { ...figures }]))
