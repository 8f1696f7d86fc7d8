import type { RawAnswer } from '../protocol/access.ts'
import type { ChargeRule, StatedCharge } from '../protocol/charge-rule.ts'
import { eventsOf, isEventStream } from './stream-answer.ts'

/** The header in which a backend says what a metered call cost; it never reaches the buyer. */
export const OVERRIDES_HEADER = 'settlement-overrides'

/** For each metered route, the rule that finds its charge in the answer; null if it has none. */
export type ChargeRules = ReadonlyMap<string, ChargeRule | null>

/** What an answer says about its cost: by its header, or else at the place that the route's rule names. */
export function statedCharge(
  rule: ChargeRule | null,
  overrides: string | undefined,
  answer: Pick<RawAnswer, 'headers' | 'body'>,
): StatedCharge | undefined {
  if (overrides !== undefined) return byHeader(overrides)
  if (!rule) return undefined
  const text = answer.body.toString('utf8')
  const documents = isEventStream(answer.headers) ? [...eventsOf(text)] : [parsed(text)]
  // The last event that says it counts.
  const quantity = named(
    documents.map((one) => valueAt(one, rule.per)).findLast((value) => value !== undefined),
  )
  return quantity === undefined ? undefined : { kind: 'quantity', quantity, rule }
}

function byHeader(overrides: string): StatedCharge | undefined {
  const value = parsed(overrides)
  // What is no object at all is handed on, to be refused with its own words.
  if (typeof value !== 'object' || value === null) return { kind: 'amount', amount: overrides }
  const { amount } = value as { amount?: unknown }
  return amount === undefined ? undefined : { kind: 'amount', amount: named(amount) }
}

/** What is no number and no text is no charge, and may be nested deeper than anybody can write it down: only its kind is said. */
function named(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? 'of an array' : 'of an object'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** RFC 6901. */
function valueAt(document: unknown, pointer: string): unknown {
  let value = document
  for (const part of pointer.slice(1).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
