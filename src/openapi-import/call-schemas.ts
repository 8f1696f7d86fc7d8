import { inlineSchema } from './inline-schema.ts'
import { type Follow, followedObject, isObject, type JsonObject, listOf, objectOf } from './local-refs.ts'

export interface CallSchemas {
  /** Of an object with `path`, `query`, `headers` and `body`, as far as the call has them. */
  inputSchema?: JsonObject
  outputSchema?: JsonObject
}

/** OpenAPI ignores headers of these names among parameters. */
const NOT_PARAMETERS = /^(accept|content-type|authorization)$/i
const PLACES = { path: 'path', query: 'query', header: 'headers' } as const

/** The parameters of an operation: its own, and those of its path that it does not replace. */
export function parametersOf(pathItem: JsonObject, operation: JsonObject, follow: Follow): JsonObject[] {
  const found = new Map<string, JsonObject>()
  for (const given of [...listOf(pathItem.parameters), ...listOf(operation.parameters)]) {
    const parameter = followedObject(follow, given)
    if (typeof parameter.name === 'string') found.set(`${parameter.in} ${parameter.name}`, parameter)
  }
  return [...found.values()]
}

/** `nameInPath`: a path parameter as the route calls it. */
export function callSchemas(
  operation: JsonObject,
  parameters: readonly JsonObject[],
  nameInPath: (name: string) => string,
  follow: Follow,
  maxBytes: number,
): CallSchemas {
  const properties: Record<string, JsonObject> = {}
  const required: string[] = []
  for (const [place, member] of Object.entries(PLACES)) {
    const here = parameters.filter(
      ({ in: where, name }) => where === place && !(place === 'header' && NOT_PARAMETERS.test(String(name))),
    )
    if (here.length === 0) continue
    const named = here.map((parameter): [string, JsonObject] => {
      const name = String(parameter.name)
      return [place === 'path' ? nameInPath(name) : name, parameter]
    })
    const needed = named.filter(([, parameter]) => parameter.required === true).map(([name]) => name)
    properties[member] = {
      type: 'object',
      properties: Object.fromEntries(named.map(([name, one]) => [name, schemaOfParameter(one)])),
      ...(needed.length > 0 && { required: needed }),
    }
    if (needed.length > 0) required.push(member)
  }
  const requestBody = followedObject(follow, operation.requestBody)
  const body = contentOf(requestBody.content, follow)
  if (body) {
    properties.body = body
    if (requestBody.required === true) required.push('body')
  }
  const whole = { type: 'object', properties, ...(required.length > 0 && { required }) }
  const inputSchema = Object.keys(properties).length > 0 ? inlineSchema(whole, follow, maxBytes) : undefined
  const answer = answerOf(operation, follow)
  const outputSchema = answer && inlineSchema(answer, follow, maxBytes)
  return { ...(inputSchema && { inputSchema }), ...(outputSchema && { outputSchema }) }
}

function schemaOfParameter({ schema, content, description }: JsonObject): JsonObject {
  const given = isObject(schema) ? schema : objectOf(objectOf(Object.values(objectOf(content))[0]).schema)
  return { ...given, ...(typeof description === 'string' && { description }) }
}

function answerOf({ responses }: JsonObject, follow: Follow): JsonObject | undefined {
  const all = objectOf(responses)
  const status = ['200', '201', '2XX', ...Object.keys(all)].find(
    (code) => /^2(\d\d|XX)$/.test(code) && Object.hasOwn(all, code),
  )
  return status === undefined ? undefined : contentOf(followedObject(follow, all[status]).content, follow)
}

/** The schema of JSON if there is one; of any other content its type is said too. */
function contentOf(content: unknown, follow: Follow): JsonObject | undefined {
  const types = Object.entries(objectOf(content))
  const isJson = ([type]: [string, unknown]) => /^application\/([a-z.+-]+\+)?json\b/i.test(type)
  const [type, chosen] = types.find(isJson) ?? types[0] ?? []
  if (type === undefined) return undefined
  const { schema } = objectOf(chosen)
  if (isJson([type, chosen]) || type.includes('*')) return isObject(schema) ? schema : {}
  // A reference is followed here, so that the type stands beside what it leads to.
  return { ...followedObject(follow, schema), contentMediaType: type }
}
