import fc from 'fast-check'

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** Stand for values that would be a nuisance to print, or that no JSON writer can write; see {@link expand}. */
const deep = (levels: number) => `@@deep:${levels}@@`
const long = (length: number) => `@@long:${length}@@`

/** What parsers, databases and arithmetic stumble over. */
const HOSTILE: Json[] = [
  ...[
    '',
    ' ',
    '0',
    '1',
    '-1',
    '01',
    '1e6',
    '0x10',
    '1.0',
    'NaN',
    'null',
    'true',
    '\u0000',
    '\ud800',
    'ﬀ',
    '١',
  ],
  ...['__proto__', 'constructor', 'toString', '../..', '%00', '%2e%2e', "'; drop table x; --", '<script>'],
  ...['\r\nx: y', '$(id)', '{{7*7}}', '0x', '0X', `0x${'f'.repeat(64)}`, `0x${'0'.repeat(40)}`],
  ...[
    '9'.repeat(77),
    '9'.repeat(78),
    '9'.repeat(79),
    '115792089237316195423570985008687907853269984665640564039457584007913129639936',
  ],
  ...[0, -0, 1, -1, 1.5, 2 ** 31, 2 ** 53, 1e21, 1e308, -1e308, true, false, null],
  ...[[], {}, [[]], [null], [{}], { __proto__x: 1 }, { length: -1 }, { toJSON: 'x' }],
  ...[deep(100), deep(3000), deep(20_000), deep(200_000), long(129), long(300), long(5000), long(200_000)],
]

const leaf: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...HOSTILE) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json> },
)

type Edit =
  | { kind: 'set'; value: Json }
  | { kind: 'drop' }
  | { kind: 'wrap' }
  | { kind: 'add'; key: string; value: Json }
  | { kind: 'copy'; from: number }
  | { kind: 'respell'; at: number; text: string }

const edit: fc.Arbitrary<Edit> = fc.oneof(
  leaf.map((value): Edit => ({ kind: 'set', value })),
  fc.constant<Edit>({ kind: 'drop' }),
  fc.constant<Edit>({ kind: 'wrap' }),
  fc
    .tuple(fc.oneof(fc.constantFrom('__proto__', 'type', 'id', 'extra', 'payload', ''), fc.string()), leaf)
    .map(([key, value]): Edit => ({ kind: 'add', key, value })),
  fc.nat(60).map((from): Edit => ({ kind: 'copy', from })),
  fc
    // One digit for another leaves hex and numbers well-formed, and wrong.
    .tuple(fc.nat(200), fc.oneof(fc.constantFrom(...'0123456789abcdef'), fc.string({ maxLength: 2 })))
    .map(([at, text]): Edit => ({ kind: 'respell', at, text })),
)

type Edits = Array<[at: number, edit: Edit]>
/** Characters changed in a text: what is broken before it is JSON. */
type Changes = Array<[at: number, cut: number, put: string]>

const someEdits: fc.Arbitrary<Edits> = fc.array(fc.tuple(fc.nat(80), edit), { maxLength: 4 })
export const someChanges: fc.Arbitrary<Changes> = fc.array(
  fc.tuple(fc.nat(4000), fc.nat(3), fc.string({ unit: 'binary', maxLength: 3 })),
  { minLength: 1, maxLength: 4 },
)

/** What becomes of one of several valid values. It does not hold the value: that may be made anew for every input. */
export type Mutation = { base: number; edits: Edits } | { base: number; changes: Changes } | { text: string }

export const someMutation: fc.Arbitrary<Mutation> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ base: fc.nat(50), edits: fc.constant<Edits>([]) }) },
  { weight: 6, arbitrary: fc.record({ base: fc.nat(50), edits: someEdits }) },
  { weight: 2, arbitrary: fc.record({ base: fc.nat(50), changes: someChanges }) },
  { weight: 1, arbitrary: fc.record({ text: fc.json() }) },
  { weight: 1, arbitrary: fc.record({ text: fc.string({ unit: 'binary' }) }) },
)

/** The text that goes over the wire. */
export function render(mutation: Mutation, bases: readonly Json[]): string {
  if ('text' in mutation) return mutation.text
  const valid = bases[mutation.base % bases.length]!
  if ('changes' in mutation) return garble(JSON.stringify(valid), mutation.changes)
  return expand(
    JSON.stringify(mutation.edits.reduce((value: Json, [at, one]) => apply(value, at, one), valid)),
  )
}

export function garble(text: string, changes: Changes): string {
  return changes.reduce((so, [place, cut, put]) => {
    const at = place % (so.length + 1)
    return so.slice(0, at) + put + so.slice(at + cut)
  }, text)
}

interface Spot {
  parent: Json[] | { [key: string]: Json }
  key: string | number
}

function spotsOf(holder: { root: Json }): Spot[] {
  const spots: Spot[] = []
  const walk = (parent: Spot['parent'], key: string | number, value: Json) => {
    spots.push({ parent, key })
    if (typeof value !== 'object' || value === null) return
    for (const [name, inner] of Object.entries(value)) walk(value, name, inner)
  }
  walk(holder as never, 'root', holder.root)
  return spots
}

function apply(value: Json, at: number, one: Edit): Json {
  const holder = { root: structuredClone(value) }
  const spots = spotsOf(holder)
  const { parent, key } = spots[at % spots.length]!
  const box = parent as { [key: string]: Json }
  const old = box[key]!
  switch (one.kind) {
    case 'set':
      box[key] = one.value
      break
    case 'drop':
      if (parent !== (holder as never)) delete box[key]
      break
    case 'wrap':
      box[key] = [old]
      break
    case 'add':
      // Defined and not assigned: assigning to __proto__ would change the test, and not the message.
      if (typeof old === 'object' && old !== null)
        Object.defineProperty(old, one.key, { value: one.value, enumerable: true, configurable: true })
      break
    case 'copy': {
      const from = spots[one.from % spots.length]!
      box[key] = structuredClone((from.parent as { [key: string]: Json })[from.key]!)
      break
    }
    case 'respell': {
      const text = typeof old === 'string' ? old : JSON.stringify(old)
      const cut = one.at % (text.length + 1)
      box[key] = text.slice(0, cut) + one.text + text.slice(cut + 1)
    }
  }
  return holder.root
}

/** The stand-ins become what they stand for. */
export function expand(text: string): string {
  return text
    .replace(/"@@deep:(\d+)@@"/g, (_all, levels) => '['.repeat(Number(levels)) + ']'.repeat(Number(levels)))
    .replace(/@@long:(\d+)@@/g, (_all, length) => 'x'.repeat(Number(length)))
}

/** Of any text, what a header can carry. */
export function headerSafe(text: string): string {
  return text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '').trim()
}
