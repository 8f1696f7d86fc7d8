import { reservedFault } from '../config/check-paths.ts'
import { HTTP_METHODS, type Route } from '../protocol/catalog.ts'
import { parsePattern, patternFault, type RoutePattern } from '../rules/route-pattern.ts'
import { parametersOf } from './call-schemas.ts'
import { serversOf } from './choose-server.ts'
import { cut } from './inline-schema.ts'
import {
  createFollow,
  createForeignWatch,
  isObject,
  type JsonObject,
  objectOf,
  textOf,
} from './local-refs.ts'
import type { NotImported } from './planned-route.ts'
import type { Description } from './read-description.ts'
import { type PriceOrFault, statedPrice } from './read-price.ts'

/** An operation that can be a route. */
export interface FoundOperation {
  method: Route['method']
  /** As a route has it: `/pets/:petId`. */
  path: string
  pattern: RoutePattern
  operationId: string | undefined
  description: string | undefined
  stated: PriceOrFault | undefined
  operation: JsonObject
  parameters: readonly JsonObject[]
}

const VERBS = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'])
/** In the header of every 402, twice; so it is short. */
const MAX_DESCRIPTION = 300

/** Every operation of a description, and why some of them cannot be routes. */
export function findOperations(
  { document, url }: Description,
  server: string | undefined,
): { found: FoundOperation[]; left: NotImported[] } {
  const follow = createFollow(document)
  const found: FoundOperation[] = []
  const left: NotImported[] = []
  for (const [template, given] of Object.entries(objectOf(document.paths))) {
    if (template.startsWith('x-')) continue
    const followed = follow(given)
    if (!('value' in followed) || !isObject(followed.value)) {
      const reason = 'fault' in followed ? followed.fault : 'is no object'
      left.push({ method: '*', path: template, reason })
      continue
    }
    const item = followed.value
    for (const [verb, operation] of Object.entries(item)) {
      if (!VERBS.has(verb)) continue
      const method = verb.toUpperCase()
      const watch = createForeignWatch(follow)
      const parameters = parametersOf(item, objectOf(operation), watch.follow)
      const path = pathOf(template)
      const reason =
        (isObject(operation) ? undefined : 'is no object') ??
        methodFault(method) ??
        pathFault(template, path) ??
        watch.foreign() ??
        cookieFault(parameters) ??
        serverFault(objectOf(operation), item, url, server)
      if (reason !== undefined) {
        left.push({ method, path: template, reason })
        continue
      }
      const own = objectOf(operation)
      found.push({
        method: method as Route['method'],
        path,
        pattern: parsePattern(path),
        operationId: textOf(own.operationId),
        description: descriptionOf(own, item),
        stated: statedPrice(own, item, document),
        operation: own,
        parameters,
      })
    }
  }
  return { found, left }
}

/**
 * The path of a route: `/pets/{pet-id}` is `/pets/:pet_id`. A segment that is more than one parameter stays as it is, and
 * is refused.
 */
export function pathOf(template: string): string {
  return template
    .split('/')
    .map((segment) => {
      const name = /^\{([^{}]+)\}$/.exec(segment)?.[1]
      return name === undefined ? segment : `:${parameterName(name)}`
    })
    .join('/')
}

export const parameterName = (name: string): string =>
  name.replace(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d)/, '_')

function methodFault(method: string): string | undefined {
  if (method === 'HEAD' || method === 'OPTIONS') return 'has no answer to sell'
  if ((HTTP_METHODS as readonly string[]).includes(method)) return undefined
  return `is no method that can be sold (${HTTP_METHODS.slice(0, 5).join(', ')})`
}

function pathFault(template: string, path: string): string | undefined {
  const mixed = path.split('/').find((segment) => /[{}]/.test(segment))
  if (mixed !== undefined && template.startsWith('/')) {
    return `has the segment "${mixed}"; a parameter of a route is a whole segment`
  }
  const fault = patternFault(path)
  if (fault !== undefined) return fault
  return reservedFault(parsePattern(path), true)?.replace(/\.$/, '')
}

function cookieFault(parameters: readonly JsonObject[]): string | undefined {
  const cookie = parameters.find(({ in: where, required }) => where === 'cookie' && required === true)
  return cookie && `needs the cookie ${JSON.stringify(cookie.name)}, which buyers do not have`
}

/** All calls go to one backend, so an operation of another server would be asked at the wrong place. */
function serverFault(
  operation: JsonObject,
  item: JsonObject,
  url: string | undefined,
  server: string | undefined,
): string | undefined {
  const [own] = [serversOf(operation, url), serversOf(item, url)].filter(({ length }) => length > 0)
  if (!own || server === undefined || own.includes(server)) return undefined
  return `is on a server of its own (${own[0]}); all routes have one backend`
}

function descriptionOf(operation: JsonObject, item: JsonObject): string | undefined {
  const texts = [operation.summary, operation.description, item.summary, item.description]
  const text = texts.map((one) => cut(textOf(one) ?? '', MAX_DESCRIPTION)).find((one) => one !== '')
  return text
}
