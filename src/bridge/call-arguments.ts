import type { Tool } from '@modelcontextprotocol/server'
import { sortKeys } from './purchase.ts'

type Schema = Record<string, unknown>

/** What is known of the arguments of a paid call. */
export interface CallShape {
  method: string
  /** Absolute, with `:name` for each parameter. */
  url: string
  query?: Schema | undefined
  body?: Schema | undefined
}

const QUERY: Schema = {
  type: 'object',
  description: 'The query string, by name; a list repeats its name.',
}
const BODY: Schema = { description: 'The request body; it is sent as JSON.' }

/** The arguments of the tool that makes such calls. A path parameter keeps its name, so the others make room. */
export function callArguments({ method, url, query, body }: CallShape) {
  const params = [...new URL(url).pathname.matchAll(/\/:([^/]+)/g)].map(([, name]) => decoded(name!))
  const beside = (wanted: string): string => (params.includes(wanted) ? beside(`_${wanted}`) : wanted)
  const names = { query: beside('query'), body: beside('body') }
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const inputSchema = {
    type: 'object',
    properties: {
      ...Object.fromEntries(params.map((name) => [name, { type: 'string' }])),
      [names.query]: query ?? QUERY,
      ...(hasBody && { [names.body]: body ?? BODY }),
    },
    required: params,
    additionalProperties: false,
  } as Tool['inputSchema']
  const known = Object.keys(inputSchema.properties!)

  return {
    inputSchema,
    /** A text says what is wrong with the arguments. */
    callOf(args: Record<string, unknown>): { url: string; method: string; body?: string } | string {
      const unknown = Object.keys(args).find((name) => !known.includes(name))
      if (unknown !== undefined)
        return `There is no argument ${JSON.stringify(unknown)}; it takes ${known.join(', ')}.`
      const filled = fill(url, params, args)
      if ('fault' in filled) return filled.fault
      const target = new URL(filled.url)
      const asked = args[names.query] ?? {}
      if (typeof asked !== 'object' || Array.isArray(asked))
        return `${names.query} must be an object of names and values.`
      for (const [name, value] of Object.entries(sortKeys(asked) as object))
        for (const one of Array.isArray(value) ? value : [value])
          target.searchParams.append(name, textOf(one))
      const given = hasBody ? args[names.body] : undefined
      return {
        url: target.href,
        method,
        ...(given !== undefined && { body: JSON.stringify(sortKeys(given)) }),
      }
    },
  }
}

function fill(
  url: string,
  params: readonly string[],
  args: Record<string, unknown>,
): { url: string } | { fault: string } {
  const values = new Map<string, string>()
  for (const name of params) {
    const value = textOf(args[name] ?? '')
    // Dots alone would name another path.
    if (value === '' || /^\.+$/.test(value)) return { fault: `${name} is missing; it is part of the path.` }
    values.set(name, encodeURIComponent(value))
  }
  const { origin, pathname, search } = new URL(url)
  const path = pathname.replace(/\/:([^/]+)/g, (_, name: string) => `/${values.get(decoded(name))}`)
  return { url: `${origin}${path}${search}` }
}

/** What is no percent-encoding stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const textOf = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))
