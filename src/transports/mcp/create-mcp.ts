import { type CallPayment, paymentOfCall } from '../../dialects/mcp-meta.ts'
import { GatewayError } from '../../errors.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import type { Network } from '../../protocol/network.ts'
import type { Catalog } from '../../rules/catalog.ts'
import type { Endpoint, Mount } from '../http/endpoint.ts'
import { CORS_HEADERS, JSON_HEADERS } from '../http/headers.ts'
import { readBody } from '../http/read-body.ts'
import type { Dialects } from '../http/render-outcome.ts'
import { jsonReply, type Reply } from '../http/reply.ts'
import type { RouteSchemas } from '../route-schemas.ts'
import { createToolCaller } from './call-tool.ts'
import { createCallerCheck } from './check-caller.ts'
import { describeServer } from './describe-server.ts'
import { discoverPlansTool } from './discover-plans-tool.ts'
import { createExchange, detached } from './exchange.ts'
import { instructBuyer } from './instruct-buyer.ts'
import { parseMessage, type RpcMessage } from './parse-message.ts'
import { requestAccessTool } from './request-access-tool.ts'
import { rewriteInternalError } from './rewrite-internal-error.ts'
import { routeTools } from './route-tool.ts'
import { createToolSpending } from './spend-credits.ts'

/** What MCP needs of the configuration. */
export interface McpConfig {
  baseUrl: string
  agentVersion: string
  /** The proxy in front says which host was asked. */
  trustProxy: boolean
  /** The first is preferred. */
  networks: readonly Network[]
  mcp: { routes: boolean }
}

export interface SoldByMcp {
  discovery: DiscoveryCatalog
  /** The same as it stands now: the same object until something changes. */
  catalogNow(): DiscoveryCatalog
  catalog: Catalog
  schemas?: ReadonlyMap<string, RouteSchemas>
}

const SERVER_ERROR = -32000

/** MCP at `/mcp`, without sessions: every POST is served by a server of its own. */
export function createMcp(config: McpConfig, { discovery, catalogNow, catalog, schemas }: SoldByMcp): Mount {
  const { networks } = config
  const tools = [
    discoverPlansTool(catalogNow, networks),
    ...(discovery.plans.length > 0 ? [requestAccessTool(networks)] : []),
    ...(config.mcp.routes ? routeTools(catalog, discovery, networks, schemas) : []),
  ]
  const card = describeServer(config, discovery)
  const instructions = instructBuyer(tools, discovery)
  const refuseForeign = createCallerCheck(config)
  const published = jsonReply(200, { ...JSON_HEADERS, 'cache-control': 'public, max-age=300' }, card)

  return (context) => {
    const { limits, admit, report } = context
    const spending = createToolSpending(context, tools)
    const callTool = createToolCaller(context, config.baseUrl, tools, spending)
    const exchange = createExchange(card, tools, callTool, instructions)

    const post: Endpoint = async (request, peer) => {
      const foreign = refuseForeign(request.headers)
      if (foreign) return asRpcError(admit(peer, foreign, { httpStatus: 403 }))
      const read = await readBody(request, limits)
      if (read.kind === 'fault') {
        return asRpcError(admit(peer, read.error, { httpStatus: read.httpStatus }))
      }
      const message = parseMessage(read.text)
      if ('fault' in message) {
        const error = new GatewayError('INVALID_REQUEST', message.fault)
        return asRpcError(admit(peer, error), null, message.code)
      }
      // A payment that comes to nothing on its way to the engine, by bad arguments say, stays counted.
      // Something that is no payment must not be a way around the limit of requests without one.
      const paying = payingOf(context.dialects, message, request.headers)
      const { payment } = paying
      const authorization = request.headers.get('authorization')
      const bearer = payment ? undefined : await spending.bearerOf(message, authorization)
      // Whoever spends does not count as a request without payment; a token that is not good does.
      if (!bearer || bearer instanceof GatewayError) {
        const admitted = admit(peer, { payment: payment instanceof GatewayError ? undefined : payment })
        if ('status' in admitted) return asRpcError(admitted, message)
      }
      const caller = { paying, bearer, authorization, address: peer.address }
      const reply = await replyOf(await exchange(detached(request), message, caller))
      return { ...reply, body: rewriteInternalError(reply.body, report) }
    }

    const get: Endpoint = () => published
    return {
      '/mcp': { POST: post },
      '/.well-known/mcp.json': { GET: get },
      '/.well-known/mcp/server-card.json': { GET: get },
    }
  }
}

/** What this message pays with. */
function payingOf(dialects: Dialects, { method, params }: RpcMessage, headers: Headers): CallPayment {
  if (method !== 'tools/call' || typeof params !== 'object' || params === null) return { paysByMpp: false }
  const { _meta } = params as { _meta?: unknown }
  const meta = typeof _meta === 'object' && _meta !== null ? (_meta as Record<string, unknown>) : undefined
  return paymentOfCall(dialects, meta, headers)
}

/** Never cached, whatever it is: a grant belongs to one buyer, and terms are true for this moment only. */
async function replyOf(response: Response): Promise<Reply> {
  const type = response.headers.get('content-type')
  const body = await response.text()
  return {
    status: response.status,
    headers: {
      ...CORS_HEADERS,
      'cache-control': 'no-store, private',
      ...(type !== null && { 'content-type': type }),
    },
    body: body === '' ? null : body,
  }
}

/** What is refused before it comes to a tool: the HTTP error of every endpoint, spoken as JSON-RPC. */
function asRpcError(reply: Reply, message: RpcMessage | null = null, code = SERVER_ERROR): Reply {
  const data = JSON.parse(reply.body ?? '{}') as { message?: string }
  const { id } = message ?? {}
  const known = typeof id === 'string' || typeof id === 'number' ? id : null
  const body = { jsonrpc: '2.0', id: known, error: { code, message: data.message, data } }
  return { ...reply, body: JSON.stringify(body) }
}
