import type { AuditEntry, ChallengeRow, Put, Store } from '../../ports.ts'
import { networkOfRail } from '../../rules/rail-id.ts'
import { observeLater } from './observe-later.ts'

/** A log entry, with the CAIP-2 id of the network that it happened on if its step says so. */
export interface SeenEntry extends AuditEntry {
  network?: string
  /** The plan or route, if the step has its challenge. */
  itemId?: string
}

export interface SeenStep {
  entries: readonly SeenEntry[]
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
        const audit = step.audit ?? []
        const entries = audit.map((entry): SeenEntry => {
          const network = networkIn(step.puts, entry.challengeId)
          const itemId = itemIn(step.puts, entry.challengeId)
          return {
            ...entry,
            ...(network !== undefined && { network }),
            ...(itemId !== undefined && { itemId }),
          }
        })
        const unpaid = step.puts.flatMap(unpaidOf)
        if (entries.length + unpaid.length > 0) observeLater(() => seen({ entries, unpaid }))
      }
      return committed
    },
    get: (table, keys) => store.get(table, keys),
    list: (table, ref) => store.list(table, ref),
    takeDue: (table, nowMs, untilMs, limit) => store.takeDue(table, nowMs, untilMs, limit),
    ...(store.listDue && {
      listDue: (table, offset, limit) => store.listDue!(table, offset, limit),
    }),
    audit: (challengeId) => store.audit(challengeId),
    log: (afterSeq, limit) => store.log(afterSeq, limit),
    ping: () => store.ping(),
    close: () => store.close(),
    ...(store.onCommitted && { onCommitted: (listener) => store.onCommitted!(listener) }),
    ...(store.admitSeveralNetworks && { admitSeveralNetworks: () => store.admitSeveralNetworks!() }),
    ...(store.snapshot && { snapshot: () => store.snapshot!() }),
  }
}

/**
 * The network of a step about one challenge. A refund, receipt or attempt says it best: a second payment may have come
 * on another network than the challenge's own.
 */
function networkIn(puts: readonly Put[], challengeId: string): string | undefined {
  let ofChallenge: string | undefined
  for (const { table, row } of puts) {
    if (table === 'challenges' && row.key === challengeId) ofChallenge = row.network
    const isMoney = table === 'refunds' || table === 'receipts' || table === 'authorizations'
    if (isMoney && row.challengeId === challengeId) return networkOfRail(row.rail)
  }
  return ofChallenge
}

function itemIn(puts: readonly Put[], challengeId: string): string | undefined {
  for (const { table, row } of puts) {
    if (table === 'challenges' && row.key === challengeId) return row.itemId
  }
  return undefined
}

function unpaidOf({ table, row }: Put): ChallengeRow[] {
  return table === 'challenges' && !row.claimed && row.receipt === null
    ? [{ ...row, version: row.version + 1 }]
    : []
}
