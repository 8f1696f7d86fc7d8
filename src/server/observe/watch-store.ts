import type { AuditEntry, ChallengeRow, Put, Store } from '../../ports.ts'
import { observeLater } from './observe-later.ts'

export interface SeenStep {
  entries: readonly AuditEntry[]
  /** Changed challenges that nobody has paid yet: they are not in the audit log. */
  unpaid: readonly ChallengeRow[]
}

/** The same store, but `seen` is called with every applied step, in order and after the caller of `commit` has its result. */
export function watchStore(store: Store, seen: (step: SeenStep) => void): Store {
  return {
    name: store.name,
    exclusive: store.exclusive,
    async commit(step) {
      const committed = await store.commit(step)
      if (committed.kind === 'applied') {
        const entries = step.audit ?? []
        const unpaid = step.puts.flatMap(unpaidOf)
        if (entries.length + unpaid.length > 0) observeLater(() => seen({ entries, unpaid }))
      }
      return committed
    },
    get: (table, keys) => store.get(table, keys),
    list: (table, ref) => store.list(table, ref),
    takeDue: (table, nowMs, untilMs, limit) => store.takeDue(table, nowMs, untilMs, limit),
    audit: (challengeId) => store.audit(challengeId),
    log: (afterSeq, limit) => store.log(afterSeq, limit),
    ping: () => store.ping(),
    close: () => store.close(),
    ...(store.onCommitted && { onCommitted: (listener) => store.onCommitted!(listener) }),
  }
}

function unpaidOf({ table, row }: Put): ChallengeRow[] {
  return table === 'challenges' && !row.claimed && row.receipt === null
    ? [{ ...row, version: row.version + 1 }]
    : []
}
