import type { DiscoveryCatalog } from '../../protocol/catalog.ts'

/** The x402 `bazaar` extension: how to call what is sold, as data (`info`) and a JSON Schema that it fits. */
export interface BazaarExtension {
  info: { input: Record<string, unknown>; output: Record<string, unknown> }
  schema: Record<string, unknown>
  routeTemplate?: string
}

type Plan = DiscoveryCatalog['plans'][number]
type Route = DiscoveryCatalog['routes'][number]

const OBJECT = { type: 'object' } as const

/** A plan is bought by `POST /x402/access`. */
export function bazaarOfPlan({ planId }: Pick<Plan, 'planId'>): BazaarExtension {
  const body = { ...OBJECT, properties: { planId: { const: planId } }, required: ['planId'] }
  return extension({ method: 'POST', bodyType: 'json', body: { planId } }, { body }, { type: 'AccessGrant' })
}

/** A route is called directly. What its query, body and answer hold is the seller's, and not known here. */
export function bazaarOfRoute(
  { method, path }: Pick<Route, 'method' | 'path'>,
  { basePath, wrapped }: { basePath: string; wrapped: boolean },
): BazaarExtension {
  const params = path.split('/').filter((segment) => segment.startsWith(':'))
  const takesBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
  const described = extension(
    {
      method,
      ...(takesBody && { bodyType: 'json', body: {} }),
      ...(params.length > 0 && {
        pathParams: Object.fromEntries(params.map((param) => [param.slice(1), param])),
      }),
    },
    takesBody ? { body: {} } : { queryParams: OBJECT },
    wrapped ? { type: 'ResourceResponse' } : undefined,
  )
  return params.length > 0 ? { ...described, routeTemplate: `${basePath}${path}` } : described
}

/**
 * It is in the header of every 402, and clients send it back with their payment. So its schema has what directories look
 * for and nothing that `info` says already; `svc` in the body has the whole schemas.
 */
function extension(
  input: Record<string, unknown>,
  schemas: Record<string, object>,
  example: object | undefined,
): BazaarExtension {
  return {
    info: { input: { type: 'http', ...input }, output: { type: 'json', ...(example && { example }) } },
    schema: {
      properties: {
        input: { properties: schemas },
        output: { properties: { example: {} } },
      },
    },
  }
}
