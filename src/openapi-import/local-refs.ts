export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {})
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** A value without references at its top, and the references that led to it. */
export type Followed =
  | { value: unknown; refs: readonly string[] }
  /** `isForeign`: it leads out of the document. */
  | { fault: string; isForeign?: true }

export type Follow = (value: unknown) => Followed

const MAX_HOPS = 32

/**
 * Follows `$ref`s inside one document. Members beside a `$ref` override those of its target, as OpenAPI 3.1 has it; in 3.0
 * they have no meaning, so that nothing is lost by it.
 */
export function createFollow(document: JsonObject): Follow {
  return (start) => {
    const refs: string[] = []
    let value = start
    let beside: JsonObject = {}
    while (isObject(value) && typeof value.$ref === 'string') {
      const { $ref: ref, ...rest } = value as { $ref: string }
      if (refs.includes(ref) || refs.length === MAX_HOPS) return { fault: `refers to itself (${ref})` }
      refs.push(ref)
      beside = { ...rest, ...beside }
      if (!ref.startsWith('#')) {
        return { fault: `refers to another document (${ref}); put all into one file first`, isForeign: true }
      }
      const target = at(document, ref)
      if (target === undefined) return { fault: `refers to ${ref}, which does not exist` }
      value = target
    }
    return { value: isObject(value) ? { ...value, ...beside } : value, refs }
  }
}

/** Follows in the same way, and remembers the first reference that led out of the document. */
export function createForeignWatch(follow: Follow): { follow: Follow; foreign(): string | undefined } {
  let first: string | undefined
  return {
    follow: (value) => {
      const found = follow(value)
      if ('fault' in found && found.isForeign) first ??= found.fault
      return found
    },
    foreign: () => first,
  }
}

/** The object that is meant, or an empty one. */
export function followedObject(follow: Follow, value: unknown): JsonObject {
  const found = follow(value)
  return 'value' in found ? objectOf(found.value) : {}
}

function at(document: JsonObject, ref: string): unknown {
  let value: unknown = document
  for (const part of ref.slice(1).split('/').slice(1)) {
    const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
