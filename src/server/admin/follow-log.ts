import type { AuditEntry, Store } from '../../ports.ts'

export type LogEntry = AuditEntry & { seq: number }

/** Reads what is new in the audit log; returns every entry exactly once. */
export interface LogFollower {
  /** One page of what is new; `more` when the end was not reached. */
  next(): Promise<{ entries: LogEntry[]; more: boolean }>
  /** How far it has read. */
  position(): number
}

/** Small enough that a payment hardly has to wait while a page is read. */
const PAGE = 500
/** On Postgres an entry may appear after one with a higher seq, but not much later: transactions are short. */
const LATE_MS = 10_000
/** What is older has nothing new before it. Times are those of many clocks, which may differ by ten minutes. */
const SETTLED_MS = 900_000

/** `start`: an entry at or before which nothing new can appear; what follows it is read. */
export function followLog(store: Pick<Store, 'log'>, now: () => number, start = 0): LogFollower {
  /** No new entry can appear at or below this seq. */
  let solid = start
  let from = start
  /** Entries read above a gap in the seqs, with the time until which the gap may still be filled. */
  const beyond = new Map<number, number>()

  function advance(): void {
    for (const seq of [...beyond.keys()].sort((a, b) => a - b)) {
      if (seq !== solid + 1 && beyond.get(seq)! > now()) return
      solid = seq
      beyond.delete(seq)
    }
  }

  return {
    async next() {
      const page = await store.log(from, PAGE)
      const fresh = page.filter(({ seq }) => seq > solid && !beyond.has(seq))
      for (const entry of fresh)
        beyond.set(entry.seq, now() - writtenAt(entry) > SETTLED_MS ? 0 : now() + LATE_MS)
      advance()
      const more = page.length === PAGE
      // At the end of the log: read again next time from where a late entry could still appear.
      from = more ? page.at(-1)!.seq : solid
      return { entries: fresh, more }
    },
    position: () => Math.max(from, solid),
  }
}

/** Some entries are written long after the event that they report, so `at` alone does not say how old they are. */
function writtenAt({ at, details }: LogEntry): number {
  return typeof details?.loggedAt === 'number' ? details.loggedAt : at
}
