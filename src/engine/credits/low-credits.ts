import type { AuditEntry, CreditRow } from '../../ports.ts'

/** A purchase is low when at most a tenth of its credits is left. */
const isLow = ({ granted, spent }: CreditRow): boolean => (granted - spent) * 10 <= granted

/**
 * Log entries for the purchases that become low by this change. `spent` only grows and the rows are versioned, so that this
 * happens once to each purchase.
 */
export function lowEntries(
  { rows, now }: { rows: readonly CreditRow[]; now: number },
  changed: readonly CreditRow[],
): AuditEntry[] {
  return changed.flatMap((row) => {
    const before = rows.find(({ key }) => key === row.key)
    if (!before || isLow(before) || !isLow(row)) return []
    const { key, requestId, granted, spent } = row
    const [payer, planId] = row.ref!.split('/') as [string, string]
    return [
      {
        at: now,
        challengeId: key,
        requestId,
        event: 'credits-low',
        fromState: null,
        toState: null,
        actor: 'gateway' as const,
        details: { granted, spent, remaining: granted - spent, planId, payer },
      },
    ]
  })
}
