import { type Follow, isObject, type JsonObject } from './local-refs.ts'

const ONE = ['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else']
const NAMED = ['properties', 'patternProperties', 'dependentSchemas']
const SEVERAL = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const PLAIN = new Set(
  `format enum const default title minimum maximum multipleOf minLength maxLength pattern minItems maxItems uniqueItems
  minProperties maxProperties minContains maxContains readOnly writeOnly deprecated contentEncoding contentMediaType`.split(
    /\s+/,
  ),
)
const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
const MAX_TEXT = 200
/** What one schema inside another takes at least: references to references multiply quickly. */
const MIN_PART_BYTES = 8
const DEPTHS = [10, 7, 5, 4, 3, 2, 1]

class TooLarge extends Error {}

/**
 * A schema of OpenAPI 3.0 or 3.1 as JSON Schema that stands alone: references are replaced by what they refer to, cycles and
 * examples are cut. What would be longer than `maxBytes` loses its inner parts; undefined if that is not enough.
 */
export function inlineSchema(schema: unknown, follow: Follow, maxBytes: number): JsonObject | undefined {
  for (const depth of DEPTHS) {
    try {
      const parts = { left: maxBytes / MIN_PART_BYTES }
      const inlined = inline(schema, follow, depth, [], parts)
      const whole = isObject(inlined) ? inlined : {}
      if (Buffer.byteLength(JSON.stringify(whole)) <= maxBytes) return whole
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error
    }
  }
  return undefined
}

function inline(
  schema: unknown,
  follow: Follow,
  depth: number,
  above: readonly string[],
  parts: { left: number },
): JsonObject | boolean {
  if (typeof schema === 'boolean') return schema
  if (--parts.left < 0) throw new TooLarge()
  const found = follow(schema)
  if (!('value' in found) || !isObject(found.value)) return {}
  const { value, refs } = found
  const head = headOf(value)
  if (depth === 0 || refs.some((ref) => above.includes(ref))) return head
  const within = [...above, ...refs]
  const next = (inner: unknown) => inline(inner, follow, depth - 1, within, parts)
  const entries = Object.entries(value).flatMap(([key, inner]): Array<[string, unknown]> => {
    if (PLAIN.has(key)) return isPlain(inner) ? [[key, inner]] : []
    if (key === 'required' && Array.isArray(inner)) {
      return [[key, [...new Set(inner.filter((name) => typeof name === 'string'))]]]
    }
    if (ONE.includes(key) && (isObject(inner) || typeof inner === 'boolean')) return [[key, next(inner)]]
    if (NAMED.includes(key) && isObject(inner)) {
      return [[key, Object.fromEntries(Object.entries(inner).map(([name, part]) => [name, next(part)]))]]
    }
    if (SEVERAL.includes(key) && Array.isArray(inner) && inner.length > 0) return [[key, inner.map(next)]]
    return []
  })
  return { ...head, ...Object.fromEntries(entries), ...limitsOf(value) }
}

/** Defaults that are objects tell buyers little, and may be of any size and depth. */
function isPlain(value: unknown): boolean {
  return Array.isArray(value) ? value.every((one) => !(one instanceof Object)) : !(value instanceof Object)
}

/** What is said of a schema whose inner parts are left out. */
function headOf({ type, nullable, description }: JsonObject): JsonObject {
  const types = (Array.isArray(type) ? type : [type]).filter((one) => TYPES.has(one))
  if (nullable === true && types.length > 0 && !types.includes('null')) types.push('null')
  const text = typeof description === 'string' ? cut(description, MAX_TEXT) : ''
  return {
    ...(types.length > 0 && { type: types.length === 1 ? types[0] : types }),
    ...(text !== '' && { description: text }),
  }
}

/** In 3.0 `exclusiveMinimum: true` makes `minimum` exclusive; in 3.1 it is a number of its own. */
function limitsOf(schema: JsonObject): JsonObject {
  const entries = (['Minimum', 'Maximum'] as const).flatMap((word): Array<[string, unknown]> => {
    const exclusive = schema[`exclusive${word}`]
    if (typeof exclusive === 'number') return [[`exclusive${word}`, exclusive]]
    const bound = schema[word.toLowerCase()]
    return exclusive === true && typeof bound === 'number' ? [[`exclusive${word}`, bound]] : []
  })
  return Object.fromEntries(entries)
}

/** One line of at most so many characters. */
export function cut(text: string, length: number): string {
  const line = text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    // Half of a pair would be no text.
    .replace(/\p{Cs}/gu, '')
  if (line.length <= length) return line
  const short = line.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')
  return `${short.slice(0, Math.max(short.lastIndexOf(' '), length / 2)).trimEnd()}…`
}
