import type { Arbitrary } from 'fast-check'

/** Two tables are enough; rows of both have a free text field. */
export const TABLES = ['requests', 'seen'] as const
export type Table = (typeof TABLES)[number]

export interface Change {
  table: Table
  key: string
  /** Added to the stored version: 0 must be accepted, anything else refused. */
  versionError: number
  /** `inPlace`: with the `ref` and `dueAt` that are stored, if there is a row. */
  put: { ref: string | null; dueIn: number | null; text: string; inPlace: boolean } | null
}

export type Command =
  | { kind: 'commit'; steps: Array<{ changes: Change[]; events: string[] }> }
  | { kind: 'get'; table: Table; keys: string[] }
  | { kind: 'list'; table: Table; ref: string }
  | { kind: 'takeDue'; table: Table; nowIn: number; waitMs: number; limit: number }
  | { kind: 'reopen' }

export const KEYS = ['a', 'b', 'a:b', '\uffee', '😀']
export const REFS = ['r', 'R', 's']

/** A random command; `reopen` only if the store can be reopened. */
export async function randomCommand(canReopen: boolean): Promise<Arbitrary<Command>> {
  // Loaded here, so that fast-check is needed only for this check.
  const { default: fc } = await import('fast-check')
  const table = fc.constantFrom(...TABLES)
  const key = fc.constantFrom(...KEYS)
  const ref = fc.constantFrom(...REFS)
  const moment = fc.integer({ min: 0, max: 9 })
  const change = fc.record({
    table,
    key,
    versionError: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.constantFrom(-1, 1)),
    put: fc.option(
      fc.record({
        ref: fc.option(ref),
        dueIn: fc.option(moment),
        text: fc.string({ unit: 'binary' }),
        inPlace: fc.boolean(),
      }),
      { freq: 5 },
    ),
  })
  const step = fc.record({
    changes: fc.uniqueArray(change, { maxLength: 4, selector: (one) => `${one.table}:${one.key}` }),
    events: fc.array(fc.constantFrom('opened', 'paid'), { maxLength: 2 }),
  })
  return fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('commit'),
        steps: fc.array(step, { minLength: 1, maxLength: 4 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('get'), table, keys: fc.array(key) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('list'), table, ref }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('takeDue'),
        table,
        nowIn: moment,
        waitMs: moment,
        limit: fc.integer({ min: 0, max: 6 }),
      }),
    },
    { weight: canReopen ? 1 : 0, arbitrary: fc.record({ kind: fc.constant('reopen') }) },
  )
}
