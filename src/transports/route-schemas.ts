import type { Route } from '../protocol/catalog.ts'

/** What the seller says of the calls of a route: see `Route`. */
export type RouteSchemas = Pick<Route, 'inputSchema' | 'outputSchema'>

/** By routeId. They are not in `/discover`, which agents read whole. */
export function schemasOf(routes: readonly Route[]): ReadonlyMap<string, RouteSchemas> {
  return new Map(
    routes
      .filter(({ inputSchema, outputSchema }) => inputSchema ?? outputSchema)
      .map(({ routeId, inputSchema, outputSchema }) => [routeId, { inputSchema, outputSchema }]),
  )
}

/** The schema of one part of a call, and whether the part is required. */
export function partOf(
  { inputSchema }: RouteSchemas,
  name: 'path' | 'query' | 'headers' | 'body',
): { schema: Record<string, unknown>; required: boolean } | undefined {
  const { properties, required } = (inputSchema ?? {}) as { properties?: unknown; required?: unknown }
  if (typeof properties !== 'object' || properties === null || !Object.hasOwn(properties, name))
    return undefined
  const schema = (properties as Record<string, unknown>)[name]
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return undefined
  return {
    schema: schema as Record<string, unknown>,
    required: Array.isArray(required) && required.includes(name),
  }
}
