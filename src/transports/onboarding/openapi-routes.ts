import { isMetered } from '../../protocol/schemes-sold.ts'
import { partOf, type RouteSchemas } from '../route-schemas.ts'
import { prepaid, sellsCredits } from './credit-words.ts'
import type { Offer, Route } from './offer.ts'
import { paidRoute, routeBase } from './offer.ts'
import { answerContent, callBody, callParameters, wrappedSchema } from './openapi-calls.ts'
import { DEBIT, prepaidDescription } from './openapi-credits.ts'
import {
  CHARGE,
  failures,
  json,
  meteredInfo,
  OPEN,
  type Operation,
  type Paths,
  paidFailures,
  paymentInfo,
  RECEIPT,
  REFUND,
  UNCHARGED,
  WITH_TOKEN,
} from './openapi-operations.ts'

/** Of a dynamic price: no call costs less. */
const LEAST = '$0.000001'

/** Every route. `/a/:x` and `/a/:y` with other methods are one path in OpenAPI, named as the first names it. */
export function routePaths(offer: Offer): Paths {
  const { discovery, baseUrl } = offer
  const base = routeBase(offer)
  const paths: Paths = {}
  const byShape = new Map<string, string>()
  for (const route of discovery.routes) {
    const own = route.path.replace(/:([A-Za-z_][A-Za-z0-9_]*)/g, '{$1}')
    const shape = own.replace(/\{[^}]*\}/g, '{}')
    const path = byShape.get(shape) ?? own
    byShape.set(shape, path)
    paths[path] ??= {
      ...(base !== baseUrl && { servers: [{ url: base }] }),
      ...parametersOf(path, offer.schemas?.get(route.routeId)),
    }
    paths[path][route.method.toLowerCase()] = routeOperation(offer, route)
  }
  return paths
}

/** What is in the path, as the first route there describes it. */
function parametersOf(path: string, schemas: RouteSchemas = {}): object {
  const names = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name = '']) => name)
  if (names.length === 0) return {}
  const described = (partOf(schemas, 'path')?.schema.properties ?? {}) as Record<string, unknown>
  const schemaOf = (name: string) => (Object.hasOwn(described, name) ? described[name] : { type: 'string' })
  return {
    parameters: names.map((name) => ({ name, in: 'path', required: true, schema: schemaOf(name) })),
  }
}

function routeOperation(offer: Offer, route: Route): Operation {
  const { routeId, method, path, description } = route
  const schemas = offer.schemas?.get(routeId) ?? {}
  const anyContent = { '*/*': { schema: {} } }
  const requestBody =
    callBody(schemas) ?? (['GET', 'DELETE'].includes(method) ? undefined : { content: anyContent })
  const parameters = callParameters(schemas)
  const shared = {
    operationId: `route.${routeId}`,
    ...(description && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
  }
  const anything = { description: "the seller's own answer", content: answerContent(schemas) ?? anyContent }
  const paid = paidRoute(route)
  if (!paid) {
    const responses = { '200': anything, ...failures(404, 429) }
    return { ...shared, summary: `${method} ${path}, free`, security: OPEN, responses }
  }
  const credits = sellsCredits(offer) ? route.credits : undefined
  const isPrepaid = credits !== undefined
  const metered = isMetered(route)
  const headers = metered ? CHARGE : isPrepaid ? { ...RECEIPT, ...DEBIT } : RECEIPT
  const wrapped = json("the backend's answer, in an envelope", wrappedSchema(schemas), headers)
  return {
    ...shared,
    summary: `${method} ${path}${metered ? ',' : ' for'} ${paid.price} a call${prepaid(credits)}`,
    security: OPEN,
    ...(isPrepaid && {
      description: prepaidDescription(description, credits),
      'x-credits': credits,
    }),
    parameters: [{ $ref: '#/components/parameters/IdempotencyKey' }, ...parameters],
    ...(metered
      ? meteredInfo(paid.most)
      : paymentInfo(route.maxAmount === undefined ? [paid.most] : [LEAST, paid.most], offer.networks)),
    responses: {
      '200': offer.servesRoutes && !route.raw ? wrapped : { ...anything, headers },
      ...paidFailures(),
      ...(metered && failures(412)),
      ...(isPrepaid && failures(401)),
      ...(route.raw && {
        default: { ...anything, headers: { ...headers, ...(metered ? UNCHARGED : REFUND) } },
      }),
    },
  }
}

/** Where a plan's token is used: below the base URL, or on the seller's own server. */
export function resourcePath({ resourceEndpoint, baseUrl }: Offer): Paths {
  const mark = 'RESOURCE-ID-HERE'
  const target = new URL(resourceEndpoint.replaceAll('{resourceId}', mark))
  const named = (value: string) => value.replaceAll(mark, '{resourceId}')
  const basePath = new URL(baseUrl).pathname.replace(/\/+$/, '')
  const below = target.origin === new URL(baseUrl).origin && target.pathname.startsWith(`${basePath}/`)
  const path = named(below ? target.pathname.slice(basePath.length) : target.pathname)
  const query = [...target.searchParams].map(([name, value]) => ({
    name,
    in: 'query',
    required: true,
    ...(value.includes(mark)
      ? { description: named(value), schema: { type: 'string' } }
      : { schema: { const: value } }),
  }))
  return {
    [path]: {
      ...(!below && { servers: [{ url: target.origin }] }),
      ...parametersOf(path.replace(/(\{resourceId\})(?=.*\1)/g, '')),
      get: {
        operationId: 'useAccess',
        summary: 'The resource that a plan opens',
        description: 'The exact URL is the resourceEndpoint of the AccessGrant.',
        security: WITH_TOKEN,
        ...(query.length > 0 && { parameters: query }),
        responses: {
          '200': { description: "the seller's data", content: { '*/*': { schema: {} } } },
          ...failures(401),
        },
      } satisfies Operation,
    },
  }
}
