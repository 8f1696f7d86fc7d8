import { z } from 'zod'
import type { RouteCall } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { MAX_PATH_CHARACTERS } from '../../protocol/access.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import type { Network } from '../../protocol/network.ts'
import type { Catalog, CatalogRoute } from '../../rules/catalog.ts'
import { paidIn } from '../name-networks.ts'
import { priceWords } from '../price-words.ts'
import { partOf, type RouteSchemas } from '../route-schemas.ts'
import { RequestId } from './request-access-tool.ts'
import { inputSchema, type McpTool, parseArguments } from './tool.ts'

/** What some models' APIs take as the name of a tool. */
const MAX_NAME = 64
const TAKEN = ['discover_plans', 'request_access']

const Scalar = z.union([z.string(), z.number(), z.boolean()])
const Query = z
  .record(z.string(), z.union([Scalar, z.array(Scalar)]))
  .describe('The query string, by name; a list repeats its name.')
const Body = z.unknown().describe('The request body; it is sent as JSON.')
/** Whatever could be read as more than one segment is no fit path of the route. */
const Segment = z
  .string()
  .regex(/^(?!\.{1,2}$)[^/\\%\p{Cc}\p{Cs}]+$/u, 'must be one path segment: not empty, without / \\ or %')

/** One tool per paid route; free ones cost nothing and are called directly. */
export function routeTools(
  { routes }: Catalog,
  discovery: DiscoveryCatalog,
  networks: readonly Network[],
  schemas: ReadonlyMap<string, RouteSchemas> = new Map(),
): McpTool[] {
  const money = networks.length > 1 ? paidIn(networks) : 'USDC'
  const names = new Set(TAKEN)
  return [...routes.values()]
    .filter(({ free }) => !free)
    .map((route) => {
      const price = priceWords(discovery.routes.find(({ routeId }) => routeId === route.routeId)!)
      const own = schemas.get(route.routeId) ?? {}
      return routeTool(route, `${price} in ${money}`, uniqueName(route.routeId, names), own)
    })
}

function routeTool(route: CatalogRoute, price: string, name: string, schemas: RouteSchemas): McpTool {
  const { routeId, method, path, pattern, isMetered } = route
  const [paidBy, orByMpp] = isMetered
    ? ['x402, scheme upto', '']
    : ['x402 or MPP', ' (MPP: _meta["org.paymentauth/credential"])']
  const params = pattern.segments.flatMap((segment) => ('param' in segment ? [segment.param] : []))
  // A path parameter keeps its name, so the others make room.
  const beside = (wanted: string): string => (params.includes(wanted) ? beside(`_${wanted}`) : wanted)
  const [query, body, requestId] = [beside('query'), beside('body'), beside('requestId')]
  const Arguments = z.strictObject({
    ...Object.fromEntries(params.map((param) => [param, Segment])),
    [query]: Query.optional(),
    ...(method !== 'GET' && { [body]: Body.optional() }),
    [requestId]: RequestId.optional(),
  })
  return {
    listing: {
      name,
      description:
        `${route.description}. ${method} ${path}, ${price} per call (${paidBy}). Without a payment it answers the ` +
        `payment requirements; called again with the same arguments and the signed payment in _meta["x402/payment"]${orByMpp} ` +
        'it answers a ResourceResponse with the data.' +
        prepaidBy(route),
      inputSchema: described(inputSchema(Arguments), schemas, { query, body }),
      annotations: { readOnlyHint: false, destructiveHint: method === 'DELETE' },
    },
    kind: 'sold',
    ...(route.credits > 0 && { prepaidRoute: routeId }),
    intentOf(args) {
      const asked = parseArguments(name, Arguments, args) as Record<string, unknown> | GatewayError
      if (asked instanceof GatewayError) return asked
      const target = pathOf(pattern, asked) + queryOf(asked[query] as z.infer<typeof Query> | undefined)
      if (target.length > MAX_PATH_CHARACTERS) {
        const message = `arguments of ${name}: path and query have ${target.length} characters together; at most ${MAX_PATH_CHARACTERS} are taken. Send less.`
        return new GatewayError('INVALID_REQUEST', message)
      }
      const call = callOf(method, target, asked[body])
      const named = asked[requestId] as string | undefined
      return { transport: 'mcp', routeId, call, ...(named !== undefined && { requestId: named }) }
    },
  }
}

function prepaidBy({ credits }: CatalogRoute): string {
  if (credits === 0) return ''
  return (
    ` Or it costs ${credits} ${credits === 1 ? 'credit' : 'credits'} of a plan and no payment: send that plan's token as ` +
    'Authorization: Bearer on the HTTP request, or its wallet\'s sign-in in _meta["sign-in-with-x"]; the same requestId is debited once.'
  )
}

/** Says of query and body what the seller says of them. What is sent is checked by the backend alone. */
function described(
  listed: McpTool['listing']['inputSchema'],
  schemas: RouteSchemas,
  names: Record<'query' | 'body', string>,
): McpTool['listing']['inputSchema'] {
  const properties: Record<string, unknown> = { ...listed.properties }
  const required = [...(listed.required ?? [])]
  for (const part of ['query', 'body'] as const) {
    const known = partOf(schemas, part)
    if (!known || !Object.hasOwn(properties, names[part])) continue
    properties[names[part]] = known.schema
    if (known.required) required.push(names[part])
  }
  // Read from JSON or checked as options, so it is JSON.
  const told = properties as NonNullable<McpTool['listing']['inputSchema']['properties']>
  return { ...listed, properties: told, ...(required.length > 0 && { required }) }
}

function uniqueName(routeId: string, names: Set<string>): string {
  const plain = routeId.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_NAME)
  let name = plain
  for (let count = 2; names.has(name); count++) {
    const suffix = `_${count}`
    name = plain.slice(0, MAX_NAME - suffix.length) + suffix
  }
  names.add(name)
  return name
}

function pathOf({ segments }: CatalogRoute['pattern'], asked: Record<string, unknown>): string {
  const written = segments.map((segment) =>
    'param' in segment ? encodeURIComponent(asked[segment.param] as string) : segment.literal,
  )
  return `/${written.join('/')}`
}

function queryOf(query: z.infer<typeof Query> = {}): string {
  const pairs = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) pairs.append(name, String(one))
  }
  return pairs.size === 0 ? '' : `?${pairs}`
}

function callOf(method: string, path: string, body: unknown): RouteCall {
  if (body === undefined) return { method, path, headers: {}, body: null }
  const headers = { 'content-type': 'application/json' }
  return { method, path, headers, body: Buffer.from(JSON.stringify(body)) }
}
