import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import { type CallShape, callArguments } from './call-arguments.ts'
import type { Description, ReadCatalog } from './gateway-documents.ts'
import { type SellerTool, toolName } from './seller.ts'

type Operation = {
  parameters?: Array<{
    in?: string
    name?: string
    required?: boolean
    description?: string
    schema?: object
  }>
  requestBody?: { content?: Record<string, { schema?: Record<string, unknown> }> }
}
/** A tool per plan and per route of a gateway. */
export function gatewayTools(
  base: string,
  { agentName, plans, routes }: Omit<ReadCatalog, 'faults'>,
  description: Description = {},
): { tools: SellerTool[]; faults: string[] } {
  const tools = plans.map((plan) => planTool(base, agentName, plan))
  const faults: string[] = []
  for (const route of routes) {
    const url = routeUrl(base, route.path, description)
    if (url === undefined)
      faults.push(`its route ${route.routeId} is left out: its path leads away from ${new URL(base).origin}`)
    else tools.push(routeTool(agentName, route, shapeOf(url, route, description)))
  }
  return { tools, faults }
}

function planTool(base: string, agentName: string, plan: DiscoveryCatalog['plans'][number]): SellerTool {
  const { planId, unitAmount, credits, description } = plan
  const calls =
    credits === undefined ? '' : ` It pays for ${credits} credits, which calls then cost instead of money.`
  return {
    listing: {
      name: toolName(`buy_${planId}`),
      description: `${sentence(description)}Buys the plan ${planId} of ${agentName} for ${unitAmount}; answers its access token, and where it is used.${calls}`,
      inputSchema: {
        type: 'object',
        properties: {
          resourceId: {
            type: 'string',
            description: 'What the access is for, if the seller has several things.',
          },
        },
        additionalProperties: false,
      },
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    },
    purchaseOf(args) {
      const { resourceId, ...rest } = args
      const [unknown] = Object.keys(rest)
      if (unknown !== undefined)
        return `There is no argument ${JSON.stringify(unknown)}; it takes resourceId.`
      if (resourceId !== undefined && typeof resourceId !== 'string') return 'resourceId must be text.'
      return { kind: 'plan', baseUrl: base, planId, ...(resourceId !== undefined && { resourceId }) }
    },
  }
}

function routeTool(
  agentName: string,
  route: DiscoveryCatalog['routes'][number],
  shape: CallShape,
): SellerTool {
  const { routeId, method, path, free, unitAmount, maxAmount, credits, description } = route
  const price = free
    ? 'is free'
    : unitAmount === undefined
      ? `costs at most ${maxAmount}`
      : `costs ${unitAmount}`
  const orCredits = credits === undefined ? '' : `, or ${credits} of the credits of a plan that was bought`
  const { inputSchema, callOf } = callArguments(shape)
  return {
    listing: {
      name: toolName(routeId),
      description: `${sentence(description)}${method} ${path} of ${agentName}; a call ${price}${orCredits}.`,
      inputSchema,
      annotations: { readOnlyHint: false, destructiveHint: method === 'DELETE', openWorldHint: true },
    },
    purchaseOf(args) {
      const call = callOf(args)
      return typeof call === 'string' ? call : { kind: 'call', ...call }
    },
  }
}

/** What the description says of a path; in it, parameters are written otherwise. */
const pathItem = (path: string, { paths }: Description) => paths?.[path.replace(/\/:([^/]+)/g, '/{$1}')]

/**
 * Where a route is called. Embedded ones may be beside the gateway and not below it, which its description says. Undefined:
 * at another origin than the gateway's, which nobody has agreed to.
 */
export function routeUrl(base: string, path: string, description: Description): string | undefined {
  const server = pathItem(path, description)?.servers?.[0]?.url?.replace(/\/+$/, '')
  const { origin } = new URL(base)
  const isOurs = (url: string) =>
    URL.canParse(url) && new URL(url).origin === origin && new URL(url).username === ''
  const url = `${server !== undefined && isOurs(server) ? server : base}${path}`
  return isOurs(url) ? new URL(url).href : undefined
}

function shapeOf(
  url: string,
  { method, path }: DiscoveryCatalog['routes'][number],
  description: Description,
): CallShape {
  const item = pathItem(path, description)
  const operation = item?.[method.toLowerCase()] as Operation | undefined
  return {
    method,
    url,
    query: queryOf(operation),
    body: operation?.requestBody?.content?.['application/json']?.schema,
  }
}

function queryOf(operation: Operation | undefined): Record<string, unknown> | undefined {
  const listed =
    operation?.parameters?.filter(({ in: place, name }) => place === 'query' && name !== undefined) ?? []
  if (listed.length === 0) return undefined
  return {
    type: 'object',
    properties: Object.fromEntries(
      listed.map(({ name, schema, description }) => [
        name!,
        { ...schema, ...(description && { description }) },
      ]),
    ),
    required: listed.filter(({ required }) => required === true).map(({ name }) => name!),
  }
}

function sentence(text: string | undefined): string {
  if (!text) return ''
  return /[.!?]$/.test(text) ? `${text} ` : `${text}. `
}
