import assert from 'node:assert/strict'
import type { AuditEntry, Put, Step, Store, TableName } from '../ports.ts'
import { type Change, type Command, KEYS, REFS, randomCommand, TABLES, type Table } from './store-commands.ts'
import { sampleAudit, sampleRow } from './store-rows.ts'

type Row = { key: string; version: number; ref: string | null; dueAt: number | null }

const RUN_SPAN_MS = 1000

/**
 * Runs random commands on the store and on a plain map, and compares every result. One store is used for all runs: each run
 * has its own keys and an earlier range of times than all runs before it, whose rows are therefore never due.
 */
export async function compareWithModel(
  store: Store,
  runs: number,
  reopen: (() => Promise<Store>) | undefined,
): Promise<void> {
  const { default: fc } = await import('fast-check')
  const command = await randomCommand(reopen !== undefined)
  let current = store
  let run = 0
  const property = fc.asyncProperty(fc.array(command, { maxLength: 30 }), async (commands) => {
    run += 1
    const play = createPlay(run)
    for (const one of commands) {
      if (one.kind === 'reopen') current = (await reopen?.()) ?? current
      else await play(current, one)
    }
    for (const name of TABLES) {
      await play(current, { kind: 'get', table: name, keys: KEYS })
      for (const each of REFS) await play(current, { kind: 'list', table: name, ref: each })
    }
  })
  await fc.assert(property, { numRuns: runs })
}

function createPlay(run: number) {
  const prefix = `run-${run}/`
  const startMs = 1_750_000_000_000 - run * RUN_SPAN_MS
  const rows = new Map<string, Row>()
  const log: AuditEntry[] = []
  const id = (table: TableName, key: string) => `${table} ${key}`
  const inTable = (table: Table) =>
    [...rows].flatMap(([name, row]) => (name.startsWith(`${table} `) ? [row] : []))

  function toStep({ changes, events }: { changes: Change[]; events: string[] }): Step {
    const step: Step & { removes: NonNullable<Step['removes']> } = {
      puts: [],
      removes: [],
      audit: events.map((event) => ({
        ...sampleAudit(`${prefix}audit`, event),
        ...(event === 'paid' && { txHash: '0x1', details: { text: '"é', n: 1, none: null, yes: true } }),
      })),
    }
    for (const { table, key: shortKey, versionError, put } of changes) {
      const key = prefix + shortKey
      const stored = rows.get(id(table, key))
      const version = (stored?.version ?? 0) + versionError
      if (put === null) {
        step.removes.push({ table, key, version: Math.max(1, version) })
        continue
      }
      const inPlace = put.inPlace && stored !== undefined
      const places = inPlace
        ? { ref: stored.ref, dueAt: stored.dueAt }
        : {
            ref: put.ref === null ? null : prefix + put.ref,
            dueAt: put.dueIn === null ? null : startMs + put.dueIn,
          }
      const base = { key, version: Math.max(0, version), ...places }
      const text = table === 'seen' ? { receipt: put.text } : { challengeId: put.text }
      step.puts.push({ table, row: { ...sampleRow(table, base), ...text }, inPlace } as Put)
    }
    return step
  }

  /** The rows that conflict with the step; none if it was applied. */
  function apply(step: Step): string[] {
    const removes = step.removes ?? []
    const touched = [...step.puts.map(({ table, row }) => ({ table, ...row })), ...removes]
    const stale = touched.filter(
      ({ table, key, version }) => (rows.get(id(table, key))?.version ?? 0) !== version,
    )
    if (stale.length > 0) return stale.map(({ table, key }) => id(table, key))
    for (const { table, row } of step.puts) rows.set(id(table, row.key), { ...row, version: row.version + 1 })
    for (const { table, key } of removes) rows.delete(id(table, key))
    log.push(...(step.audit ?? []))
    return []
  }

  return async function play(store: Store, command: Exclude<Command, { kind: 'reopen' }>): Promise<void> {
    switch (command.kind) {
      case 'commit': {
        // All in one tick: stores group them, and each must see the effects of those before it.
        const answers: Array<ReturnType<Store['commit']>> = []
        const expected: string[][] = []
        for (const planned of command.steps) {
          const step = toStep(planned)
          answers.push(store.commit(step))
          expected.push(apply(step))
        }
        for (const [index, answer] of (await Promise.all(answers)).entries()) {
          const stale = expected[index] ?? []
          if (answer.kind === 'applied') assert.deepEqual(stale, [])
          else assert.ok(stale.includes(id(answer.table, answer.key)), JSON.stringify({ answer, stale }))
        }
        const stored = await store.audit(`${prefix}audit`)
        assert.deepEqual(
          stored.map(({ seq: _, ...entry }) => entry),
          log,
        )
        assertIncreasing(stored.map((entry) => entry.seq))
        return
      }
      case 'get': {
        const keys = command.keys.map((key) => prefix + key)
        const expected = keys.map((key) => rows.get(id(command.table, key)))
        assert.deepEqual(await store.get(command.table, keys), expected)
        return
      }
      case 'list': {
        const expected = inTable(command.table).filter((row) => row.ref === prefix + command.ref)
        assert.deepEqual(await store.list(command.table, prefix + command.ref), expected.sort(byKey))
        return
      }
      case 'takeDue': {
        const nowMs = startMs + command.nowIn
        const due = inTable(command.table).filter((row) => row.dueAt !== null && row.dueAt <= nowMs)
        due.sort((a, b) => Number(a.dueAt) - Number(b.dueAt) || byKey(a, b))
        const expected = due.slice(0, command.limit).map((row) => {
          const taken = { ...row, version: row.version + 1, dueAt: nowMs + command.waitMs }
          rows.set(id(command.table, row.key), taken)
          return taken
        })
        assert.deepEqual(
          await store.takeDue(command.table, nowMs, nowMs + command.waitMs, command.limit),
          expected,
        )
      }
    }
  }
}

export function assertIncreasing(numbers: number[]): void {
  for (const [index, number] of numbers.entries()) {
    if (index > 0) assert.ok(number > numbers[index - 1]!, `${numbers} does not increase`)
  }
}

/** Rows come in the order of their keys' bytes, in every store. */
function byKey(a: Row, b: Row): number {
  return Buffer.compare(Buffer.from(a.key), Buffer.from(b.key))
}
