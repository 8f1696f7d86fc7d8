import type { AuditEntry, Store } from '../../ports.ts'

export type LogEntry = AuditEntry & { seq: number }

/** Reads the audit log to its end, again and again; every entry comes exactly once. */
export interface LogFollower {
  /** One page of what is new; `more` when the end was not reached. */
  next(): Promise<{ entries: LogEntry[]; more: boolean }>
  /** How far it has read. */
  position(): number
}

/** Small enough that a payment hardly waits for one. */
const PAGE = 500
/** On Postgres an entry may appear after one with a higher seq, but not much later: its transaction would have ended. */
const LATE_MS = 10_000
const SETTLED_MS = 120_000

export function followLog(store: Pick<Store, 'log'>, now: () => number): LogFollower {
  /** Nothing at or below it can still appear. */
  let solid = 0
  let from = 0
  /** Read above a gap that may still fill, with the time until which it may. */
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
      // At the end: the next look begins where a late entry could still appear.
      from = more ? page.at(-1)!.seq : solid
      return { entries: fresh, more }
    },
    position: () => Math.max(from, solid),
  }
}

/** Some entries are written later than what they tell of happened. */
function writtenAt({ at, details }: LogEntry): number {
  return typeof details?.loggedAt === 'number' ? details.loggedAt : at
}

/** About how many entries there are: the seq of the last one, found by a handful of looks. */
export async function lastSeq(store: Pick<Store, 'log'>): Promise<number> {
  const isBeyond = async (seq: number): Promise<boolean> => (await store.log(seq, 1)).length === 0
  let high = 1024
  while (!(await isBeyond(high))) high *= 2
  let low = 0
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (await isBeyond(middle)) high = middle
    else low = middle
  }
  return high
}
