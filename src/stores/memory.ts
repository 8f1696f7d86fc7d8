import type { Committed, Step, Store, TableName, Tables } from '../ports.ts'
import { fromStored, fromStoredAudit, prepareStep, type StoredAudit, type StoredRow } from './prepare-step.ts'

interface MemoryRow extends StoredRow {
  /** The row as callers get it, once somebody has asked for it. */
  shown?: object | undefined
}

interface Table {
  rows: Map<string, MemoryRow>
  keysByRef: Map<string, Set<string>>
  /** Keys of rows with a `dueAt`. Most rows end without one, so jobs need not look at all rows. */
  waiting: Set<string>
}

/**
 * Keeps everything in the memory of this process: for tests and the simulator. Every call takes effect at once and the same
 * calls give the same answers, so that a failing seed replays exactly. Rows are stored as text and handed out frozen, so that
 * no caller can change what is stored.
 */
export function createMemoryStore(): Store {
  const tables = new Map<TableName, Table>()
  const entries: Array<StoredAudit & { seq: number }> = []
  const byChallenge = new Map<string, typeof entries>()

  function table(name: TableName): Table {
    let found = tables.get(name)
    if (found === undefined) {
      found = { rows: new Map(), keysByRef: new Map(), waiting: new Set() }
      tables.set(name, found)
    }
    return found
  }

  function apply(step: Step): Committed {
    const { writes, audit } = prepareStep(step)
    const stale = writes.find(({ table: name, key, version }) => {
      return (table(name).rows.get(key)?.version ?? 0) !== version
    })
    if (stale !== undefined) return { kind: 'conflict', table: stale.table, key: stale.key }
    for (const { table: name, key, row } of writes) replace(table(name), key, row)
    for (const entry of audit) {
      const logged = { ...entry, seq: entries.length + 1 }
      entries.push(logged)
      const own = byChallenge.get(entry.challengeId)
      if (own) own.push(logged)
      else byChallenge.set(entry.challengeId, [logged])
    }
    return { kind: 'applied' }
  }

  return {
    name: 'memory',
    // Not exclusive: a simulated restart uses the same object again, and many instances may share it.
    exclusive: false,
    commit: async (step) => apply(step),
    get: async (name, keys) => {
      return keys.map((key) => {
        const row = table(name).rows.get(key)
        return row && shown(row)
      })
    },
    list: async (name, ref) => {
      const { rows, keysByRef } = table(name)
      return [...(keysByRef.get(ref) ?? [])].sort(compareText).map((key) => shown(rows.get(key)!))
    },
    takeDue: async (name, nowMs, untilMs, limit) => {
      const due = waitingRows(table(name)).filter((row) => row.dueAt! <= nowMs)
      due.sort(compareDue)
      return due.slice(0, Math.max(0, limit)).map((row) => {
        const { key, ref, body } = row
        const taken: MemoryRow = { key, version: row.version + 1, ref, dueAt: untilMs, body }
        replace(table(name), key, taken)
        return shown(taken)
      })
    },
    listDue: async (name, offset, limit) => {
      const due = waitingRows(table(name)).sort(compareDue)
      return due.slice(offset, offset + Math.max(0, limit)).map((row) => shown(row))
    },
    audit: async (challengeId) => (byChallenge.get(challengeId) ?? []).map(fromLog),
    // The seq of an entry is its position, counted from 1.
    log: async (afterSeq, limit) => entries.slice(afterSeq, afterSeq + Math.max(0, limit)).map(fromLog),
    ping: async () => {},
    // Keeps its rows, because a simulated restart uses the same store again.
    close: async () => {},
  }
}

function fromLog({ seq, ...entry }: StoredAudit & { seq: number }) {
  return { ...fromStoredAudit(entry), seq }
}

/** Parsed once for all who read it: the simulator reads a row far more often than it writes one. */
function shown<N extends TableName>(row: MemoryRow): Tables[N] {
  row.shown ??= frozen(fromStored<N>(row))
  return row.shown as Tables[N]
}

function frozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null) frozen(part)
  }
  return Object.freeze(value)
}

function replace({ rows, keysByRef, waiting }: Table, key: string, row: MemoryRow | null): void {
  const oldRef = rows.get(key)?.ref ?? null
  if (oldRef !== null) {
    const keys = keysByRef.get(oldRef)!
    keys.delete(key)
    if (keys.size === 0) keysByRef.delete(oldRef)
  }
  waiting.delete(key)
  if (row === null) {
    rows.delete(key)
    return
  }
  rows.set(key, row)
  if (row.dueAt !== null) waiting.add(key)
  if (row.ref !== null) keysByRef.set(row.ref, (keysByRef.get(row.ref) ?? new Set()).add(key))
}

const waitingRows = ({ rows, waiting }: Table): MemoryRow[] => [...waiting].map((key) => rows.get(key)!)

const compareDue = (a: StoredRow, b: StoredRow): number => a.dueAt! - b.dueAt! || compareText(a.key, b.key)

/** Compares by bytes, as databases do; the order of JavaScript strings differs beyond U+FFFF. */
function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
