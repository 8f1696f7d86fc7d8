import type { Route } from '../protocol/catalog.ts'
import { parseResourcePath } from '../rules/resource-path.ts'
import { overlaps, parsePattern, patternFault, type RoutePattern } from '../rules/route-pattern.ts'
import type { OptionReader } from './option-reader.ts'

/** First segments of paths that the gateway itself answers, or would answer if more of it were switched on. */
const RESERVED = new Set([
  '.well-known',
  'a2a',
  'admin',
  'did.json',
  'discover',
  'health',
  'llms.txt',
  'mcp',
  'metrics',
  'openapi.json',
  'ready',
  'receipts',
  'robots.txt',
  'setup',
  'skills.md',
  'x402',
])

export interface PathRules {
  /** The gateway itself answers calls of routes; false where handlers of the seller's own do. */
  answersRoutes: boolean
  /** Path of the resource endpoint that the gateway guards, with `{resourceId}`. */
  guarded: string | undefined
}

/** One path must mean one price: a path that could match two routes, or a route and an endpoint, is a fault. */
export function checkPaths(reader: OptionReader, routes: readonly Route[], rules: PathRules): void {
  const label = reader.label('routes')
  const patterns: Array<Route & { pattern: RoutePattern }> = []
  for (const route of routes) {
    const name = `${label}: path ${JSON.stringify(route.path)} of route "${route.routeId}"`
    const fault = patternFault(route.path)
    if (fault !== undefined) {
      reader.faults.push(`${name} ${fault}.`)
      continue
    }
    const pattern = parsePattern(route.path)
    const taken = reservedFault(pattern, rules.answersRoutes)
    if (taken !== undefined) reader.faults.push(`${name} ${taken}`)
    // Preflights (OPTIONS) and probes (HEAD) must stay free, and their answers have no body to sell.
    if (route.method === 'HEAD' || route.method === 'OPTIONS') {
      reader.faults.push(
        `${label}: ${route.method} of route "${route.routeId}" has no answer to sell; use GET.`,
      )
    }
    if (route.delivered && rules.answersRoutes) {
      reader.faults.push(
        `${label}: route "${route.routeId}" has delivered, which is for routes that handlers of your own answer (payPerRequest); of a backend 2xx is a delivery. Leave it out.`,
      )
    }
    patterns.push({ ...route, pattern })
  }
  patterns.forEach((one, index) => {
    for (const other of patterns.slice(index + 1)) {
      // The same path twice is reported elsewhere, as a duplicate.
      if (one.method !== other.method || one.path === other.path) continue
      if (overlaps(one.pattern, other.pattern)) {
        reader.faults.push(
          `${label}: ${nameOf(one)} and ${nameOf(other)} overlap: one path would have two prices. Change one of them.`,
        )
      }
    }
  })
  if (rules.guarded !== undefined) checkGuarded(reader, rules.guarded, patterns)
}

const nameOf = ({ routeId, method, path }: Route): string => `route "${routeId}" (${method} ${path})`

export function reservedFault({ segments }: RoutePattern, answersRoutes: boolean): string | undefined {
  const first = segments[0]!
  if ('literal' in first) {
    if (!RESERVED.has(first.literal)) return undefined
    return `is taken: the gateway itself answers below /${first.literal}. Choose another, for example "/api/${first.literal}".`
  }
  // Embedded routes are on the seller's own server, where the gateway may be mounted below another path.
  if (!answersRoutes) return undefined
  return `starts with a parameter, which could also mean an endpoint of the gateway such as /discover; put a fixed segment first, for example "/api/:${first.param}".`
}

/** A token must not open what is sold per call, so the two may not share a path, whatever the method. */
function checkGuarded(
  reader: OptionReader,
  path: string,
  patterns: ReadonlyArray<Route & { pattern: RoutePattern }>,
): void {
  const segments = path
    .slice(1)
    .split('/')
    .map((text) => (text.includes('{resourceId}') ? { param: 'resourceId' } : { literal: text }))
  // Such a path would be refused before its token is checked, although the buyer has paid for the token.
  if (!parseResourcePath(path.replaceAll('{resourceId}', 'x'))) {
    reader.fault(
      'resourceEndpoint',
      `has the path ${path}, which servers do not all read alike; use plain characters, percent-encode others, and leave out segments such as "..;".`,
    )
  }
  const taken = reservedFault({ segments }, true)
  if (taken !== undefined) reader.fault('resourceEndpoint', taken)
  for (const route of patterns) {
    if (overlaps({ segments }, route.pattern)) {
      reader.fault(
        'resourceEndpoint',
        `(${path}) and ${nameOf(route)} overlap: a plan's token would open what is sold per call. Change one of them.`,
      )
    }
  }
}
