import { isDeepStrictEqual } from 'node:util'
import { ConfigError } from '../errors.ts'
import type { Route } from '../protocol/catalog.ts'
import { type CallSchemas, callSchemas } from './call-schemas.ts'
import { type FoundOperation, findOperations, parameterName, pathOf } from './find-operations.ts'
import { leaveOverlaps } from './leave-overlaps.ts'
import { createFollow, createForeignWatch, listOf, objectOf } from './local-refs.ts'
import type { Candidate, ImportedRoute, NotImported, PlannedRoute } from './planned-route.ts'
import type { Description } from './read-description.ts'
import { microOf, type Price, priceOfRoute, priceWords } from './read-price.ts'
import { createNamer } from './route-ids.ts'
import { type RouteMatcher, shapeOf } from './route-matcher.ts'

export interface ImportChoices {
  /** The routes that are there already. */
  existing: readonly Route[]
  /** For new routes that have no other price. */
  priceForAll?: Price | undefined
  prices?: ReadonlyArray<{ matches: RouteMatcher; price: Price }>
  skip?: readonly RouteMatcher[]
  /** Prices of the description replace those of the routes that are there. */
  takePrices?: boolean
  /** New routes answer as the backend does. */
  raw?: boolean
  /** The server whose operations are meant. */
  server?: string | undefined
}

export interface ImportPlan {
  title: string
  imported: ImportedRoute[]
  /** Routes that are there and not in the description. */
  others: Route[]
  notImported: NotImported[]
  notes: string[]
}

const MAX_ROUTES = 1000
/** All schemas together; the setup page sends them with every check. */
const SCHEMA_BYTES = 256 * 1024
const MAX_SCHEMA_BYTES = 8 * 1024

/** What an import would make of the routes that are there. Nothing is changed by it. */
export function planImport(description: Description, choices: ImportChoices): ImportPlan {
  const { existing, skip = [] } = choices
  const { found, left } = findOperations(description, choices.server)
  const wanted = found.filter((one) => !skip.some((matches) => matches(one)))
  if (wanted.length > MAX_ROUTES) {
    throw new ConfigError([
      `${description.name} has ${wanted.length} operations; ${MAX_ROUTES} can be imported. Leave some out with --skip.`,
    ])
  }
  const keyOf = ({ method, path }: { method: string; path: string }) => `${method} ${shapeOf(path)}`
  const known = new Map(existing.map((route) => [keyOf(route), route]))
  const name = createNamer(existing.map(({ routeId }) => routeId))
  const schemas = schemaReader(description, wanted.length)
  const candidates: Candidate[] = []
  const notImported = [...left]
  const notes = notesOf(description)
  const keys = new Set<string>()
  for (const operation of wanted) {
    const { method, path } = operation
    const before = known.get(keyOf(operation))
    const price = priceOf(operation, before, choices)
    if (keys.has(keyOf(operation))) {
      notImported.push({ method, path, reason: 'matches the same calls as another path of the description' })
      continue
    }
    const described = schemas(operation)
    if ('fault' in described) {
      notImported.push({ method, path, reason: described.fault })
      continue
    }
    keys.add(keyOf(operation))
    if (price && 'fault' in price) {
      notImported.push({ method, path, reason: price.fault })
      continue
    }
    const routeId = before?.routeId ?? name(operation)
    if (!before && operation.operationId && routeId !== operation.operationId) {
      notes.push(`${method} ${path} is the route ${routeId}: its operationId is no id, or is used twice.`)
    }
    candidates.push({
      ...compared(before, routeOf(operation, before, routeId, price, described, choices.raw)),
      ...noteOf(operation, before, price),
      pattern: operation.pattern,
      price,
    })
  }
  const untouched = existing.filter((route) => !keys.has(keyOf(route)))
  const { kept, left: overlapping } = leaveOverlaps(candidates, untouched)
  // What is described is not among them, even if it was skipped or could not be read.
  const inDescription = new Set([
    ...found.map(keyOf),
    ...left.map(({ method, path }) => keyOf({ method, path: pathOf(path) })),
  ])
  const others = untouched.filter(
    (route) => !inDescription.has(keyOf(route)) && !inDescription.has(keyOf({ ...route, method: '*' })),
  )
  const imported = kept.map(({ pattern: _pattern, price: _price, ...rest }) => rest)
  return { title: description.title, imported, others, notImported: [...notImported, ...overlapping], notes }
}

/** What was said for this route; what it costs now; what the description says; what was said for all. */
function priceOf(operation: FoundOperation, before: Route | undefined, choices: ImportChoices) {
  const said = choices.prices?.findLast(({ matches }) => matches(operation))
  if (said) return said.price
  const { stated } = operation
  if (before && !(choices.takePrices && stated)) return priceOfRoute(before)
  return stated ?? choices.priceForAll
}

const NOTHING: Partial<Route> = {}

function routeOf(
  { method, path, description }: FoundOperation,
  before: Route | undefined,
  routeId: string,
  price: Price | undefined,
  schemas: CallSchemas,
  raw: boolean | undefined,
): PlannedRoute {
  const {
    free: _free,
    unitAmount: _amount,
    priceFrom: _from,
    maxAmount: _most,
    scheme: _scheme,
    charge: _charge,
    chargeIfUnstated: _unstated,
    stream: _stream,
    ...others
  } = before ?? NOTHING
  const { credits, inputSchema: _in, outputSchema: _out, ...rest } = others
  const isFree = price !== undefined && 'free' in price
  const was = before && priceOfRoute(before)
  // A price that is written differently and is the same stays as it was written.
  const isSame =
    was && price && 'unitAmount' in price && 'unitAmount' in was && microOf(was) === microOf(price)
  return {
    ...(!before && raw && !isFree && { raw: true }),
    ...rest,
    routeId,
    method,
    path,
    ...(isSame ? was : price),
    ...(credits !== undefined && !isFree && { credits }),
    ...(description !== undefined && { description }),
    ...schemas,
  }
}

function compared(before: Route | undefined, route: PlannedRoute): ImportedRoute {
  if (!before) return { route, kind: 'added', changes: [] }
  const words = (one: PlannedRoute) => {
    const price = priceOfRoute(one)
    return price ? priceWords(price) : 'no price'
  }
  const schemasOf = ({ inputSchema, outputSchema }: PlannedRoute) => [inputSchema, outputSchema]
  const changes = [
    ...(words(before) !== words(route) ? [`price ${words(before)} → ${words(route)}`] : []),
    ...(before.path !== route.path ? [`path ${before.path} → ${route.path}`] : []),
    ...(before.description !== route.description ? ['description'] : []),
    ...(isDeepStrictEqual(schemasOf(before), schemasOf(route)) ? [] : ['schemas']),
  ]
  return { route, kind: changes.length > 0 ? 'changed' : 'same', changes }
}

function noteOf(
  { stated }: FoundOperation,
  before: Route | undefined,
  price: Price | undefined,
): { note?: string } {
  if (!before || !price || !stated || 'fault' in stated || microOf(stated) === microOf(price)) return {}
  return { note: `${priceWords(price)} stays; the description says ${priceWords(stated)}` }
}

/**
 * With many routes each schema gets less room, so that all of them together stay small enough to be saved. The fault is a part
 * that stands in another document.
 */
function schemaReader(
  { document }: Description,
  count: number,
): (operation: FoundOperation) => CallSchemas | { fault: string } {
  const follow = createFollow(document)
  const maxBytes = Math.min(MAX_SCHEMA_BYTES, Math.floor(SCHEMA_BYTES / (2 * Math.max(1, count))))
  return ({ operation, parameters }) => {
    const watch = createForeignWatch(follow)
    const schemas = callSchemas(operation, parameters, parameterName, watch.follow, maxBytes)
    const fault = watch.foreign()
    return fault === undefined ? schemas : { fault }
  }
}

function notesOf({ document }: Description): string[] {
  const global = listOf(document.security).flatMap((one) => Object.keys(objectOf(one)))
  if (global.length === 0) return []
  return [
    `The API asks for credentials (${[...new Set(global)].join(', ')}), which buyers do not have: let it accept what the gateway signs (PROXY_SECRET).`,
  ]
}
