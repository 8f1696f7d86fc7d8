import type { DiscoveryCatalog } from '../../protocol/catalog.ts'

/** The x402 `bazaar` extension: how to call what is sold, as data (`info`) and the JSON Schema that it fits. */
export interface BazaarExtension {
  info: { input: Record<string, unknown>; output: Record<string, unknown> }
  schema: Record<string, unknown>
  routeTemplate?: string
}

type Plan = DiscoveryCatalog['plans'][number]
type Route = DiscoveryCatalog['routes'][number]

const text = { type: 'string' } as const

/** A plan is bought by `POST /x402/access`. */
export function bazaarOfPlan({ planId }: Pick<Plan, 'planId'>): BazaarExtension {
  return extension(
    {
      method: { example: 'POST', schema: { ...text, enum: ['POST'] } },
      bodyType: { example: 'json', schema: { ...text, enum: ['json'] } },
      body: {
        example: { planId },
        schema: {
          type: 'object',
          properties: { planId: { ...text, const: planId }, requestId: text, resourceId: text },
          required: ['planId'],
        },
      },
    },
    { type: 'AccessGrant', planId, tokenType: 'Bearer' },
  )
}

/** A route is called directly. What its query, body and answer hold is the seller's, and not known here. */
export function bazaarOfRoute(
  { routeId, method, path }: Pick<Route, 'routeId' | 'method' | 'path'>,
  { basePath, wrapped }: { basePath: string; wrapped: boolean },
): BazaarExtension {
  const params = path.split('/').filter((segment) => segment.startsWith(':'))
  const names = params.map((param) => param.slice(1))
  const takesBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
  const described = extension(
    {
      method: { example: method, schema: { ...text, enum: [method] } },
      ...(takesBody && {
        bodyType: { example: 'json', schema: { ...text, enum: ['json', 'form-data', 'text'] } },
        body: { example: {}, schema: {} },
      }),
      ...(names.length > 0 && {
        pathParams: {
          example: Object.fromEntries(names.map((name, index) => [name, params[index]!])),
          schema: {
            type: 'object',
            properties: Object.fromEntries(names.map((name) => [name, text])),
            required: names,
          },
        },
      }),
    },
    wrapped ? { type: 'ResourceResponse', routeId, resource: { status: 200, body: {} } } : {},
  )
  return names.length > 0 ? { ...described, routeTemplate: `${basePath}${path}` } : described
}

function extension(
  fields: Record<string, { example: unknown; schema: object }>,
  answer: Record<string, unknown>,
): BazaarExtension {
  const input = { type: { example: 'http', schema: { ...text, const: 'http' } }, ...fields }
  const pick = (part: 'example' | 'schema') =>
    Object.fromEntries(Object.entries(input).map(([name, field]) => [name, field[part]]))
  return {
    info: { input: pick('example'), output: { type: 'json', example: answer } },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        input: {
          type: 'object',
          properties: pick('schema'),
          required: Object.keys(input),
          additionalProperties: false,
        },
        output: {
          type: 'object',
          properties: { type: text, example: { type: 'object' } },
          required: ['type'],
        },
      },
      required: ['input'],
    },
  }
}
