import type { CreditRow } from '../../ports.ts'
import { type Core, commit } from '../core.ts'
import { LOT_KEPT_MS } from '../ownership/lots.ts'
import type { Accounts } from './accounts.ts'
import { finishClosing } from './close-credits.ts'
import { DUE_STEP_MS, lapse } from './credit-rows.ts'

/**
 * A row that is due: gives back what was reserved for calls that did not end, and removes it a day after its end; what
 * it granted and what was spent of it stays in the log.
 */
export async function reviewCredits(core: Core, accounts: Accounts, due: CreditRow): Promise<void> {
  if (due.ended === 'closing') return finishClosing(core, accounts, due)
  accounts.forget(due.ref!)
  await accounts.change(due.ref!, {
    apply(view) {
      const row = view.rows.find(({ key }) => key === due.key)
      if (!row) return
      const current = lapse(row, view.now)
      if (view.now < row.expiresAt + LOT_KEPT_MS || current.reserved.length > 0) {
        // It was postponed when it was taken; from now on it is due when it needs to be.
        view.put([{ ...current, dueAt: null }])
        return
      }
      view.remove(row)
      const { granted, spent, ended } = row
      const [payer, planId] = row.ref!.split('/') as [string, string]
      const details = { granted, spent, planId, payer, ...(ended && { ended }) }
      view.also({ audit: [endedEntry(row, core.clock.now(), details)] })
    },
  })
}

function endedEntry(row: CreditRow, at: number, details: Record<string, string | number>) {
  return {
    at,
    challengeId: row.key,
    requestId: row.requestId,
    event: 'credits-ended',
    fromState: null,
    toState: null,
    actor: 'gateway' as const,
    details,
  }
}

/**
 * At the start on a store that only this process uses: calls under way belonged to a process that has ended. Those that
 * this process has begun meanwhile last longer than any of an earlier one, and are left alone.
 */
export async function voidReservations(core: Core): Promise<void> {
  const now = core.clock.now()
  const ownUntil = now + core.config.deliveryLeaseMs
  // A row that holds reservations is due up to one step after they end.
  const taken = await core.store.takeDue('credits', ownUntil + DUE_STEP_MS, now, 100_000)
  const held = taken.filter(({ reserved }) => reserved.length > 0)
  await Promise.all(
    held.map((row) => {
      const reserved = row.reserved.map((one) =>
        // Remembered as lapsed: should it be this process's after all, after a clock was put back, it is not answered.
        one.until < ownUntil && !one.lapsed ? { ...one, until: now, lapsed: true as const } : one,
      )
      return commit(core, { puts: [{ table: 'credits', row: { ...row, reserved } }], durability: 'deferred' })
    }),
  )
}
