import { partOf, type RouteSchemas } from '../route-schemas.ts'
import { schemaRef } from './openapi-operations.ts'

/** Query and headers of a route as OpenAPI's parameters. The path's stand beside its operations. */
export function callParameters(schemas: RouteSchemas): object[] {
  return (['query', 'headers'] as const).flatMap((place) => {
    const part = partOf(schemas, place)
    const { properties, required } = part?.schema ?? {}
    if (typeof properties !== 'object' || properties === null) return []
    const needed: readonly unknown[] = Array.isArray(required) ? required : []
    return (
      Object.entries(properties)
        // The gateway's own, which stands there already.
        .filter(([name]) => place === 'query' || name.toLowerCase() !== 'idempotency-key')
        .map(([name, schema]) => ({
          name,
          in: place === 'query' ? 'query' : 'header',
          ...(needed.includes(name) && { required: true }),
          schema,
        }))
    )
  })
}

export function callBody(schemas: RouteSchemas): object | undefined {
  const body = partOf(schemas, 'body')
  if (!body) return undefined
  const { contentMediaType = 'application/json', ...schema } = body.schema
  return {
    ...(body.required && { required: true }),
    content: { [String(contentMediaType)]: { schema } },
  }
}

/** The backend's own answer. */
export function answerContent({ outputSchema }: RouteSchemas): object | undefined {
  if (!outputSchema) return undefined
  const { contentMediaType = 'application/json', ...schema } = outputSchema
  return { [String(contentMediaType)]: { schema } }
}

/** The same inside a ResourceResponse. */
export function wrappedSchema({ outputSchema }: RouteSchemas): object {
  const whole = schemaRef('ResourceResponse')
  if (!outputSchema || outputSchema.contentMediaType !== undefined) return whole
  const resource = { type: 'object', properties: { body: outputSchema } }
  return { allOf: [whole, { type: 'object', properties: { resource } }] }
}
