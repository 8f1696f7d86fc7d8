import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { ToolCall, ToolCaller } from './call-tool.ts'
import type { ServerCard } from './describe-server.ts'
import type { RpcMessage } from './parse-message.ts'
import type { McpTool } from './tool.ts'

/** What is known of a call before the protocol's library reads it. */
export type Caller = Pick<ToolCall, 'paying' | 'bearer' | 'authorization' | 'address'>

/** Serves one message of either generation of the protocol, by a fresh server, and always answers JSON. */
export function createExchange(
  card: ServerCard,
  tools: readonly McpTool[],
  callTool: ToolCaller,
  instructions: string,
): (request: Request, message: RpcMessage, caller: Caller) => Promise<Response> {
  // A handler of the protocol's library sees the request, and nothing that is ours.
  const callers = new WeakMap<object, Caller>()
  const listings = tools.map(({ listing }) => listing)
  const names = listings.map(({ name }) => name).join(', ')

  /** The plain server and not the one with registered tools: that words argument errors by itself, and not as ours. */
  function newServer(): Server {
    const { name, version, description } = card
    const server = new Server({ name, version, description }, { capabilities: { tools: {} }, instructions })
    server.setRequestHandler('tools/list', () => ({ tools: listings }))
    server.setRequestHandler('tools/call', async ({ params }, { http, mcpReq }) => {
      const caller = http?.req && callers.get(http.req)
      if (!caller) throw new Error('a tool call without its request')
      const result = await callTool({
        name: params.name,
        args: params.arguments,
        meta: mcpReq._meta,
        ...caller,
      })
      if (result) return result
      const unknown = JSON.stringify(params.name.slice(0, 128))
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `There is no tool ${unknown}; there are ${names}.`,
      )
    })
    return server
  }

  const modern = createMcpHandler(newServer, { legacy: 'reject' })

  return async (request, message, caller) => {
    callers.set(request, caller)
    if (message.method === 'subscriptions/listen') return nothingChanges(message)
    if (!(await isLegacyRequest(request, message))) return modern.fetch(request, { parsedBody: message })
    const server = newServer()
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    await server.connect(transport)
    try {
      return await transport.handleRequest(request, { parsedBody: message })
    } finally {
      await server.close()
    }
  }
}

/** A request of its own, without the body: a client that leaves must not abort a settlement through `signal`. */
export function detached(request: Request): Request {
  const headers = new Headers(request.headers)
  const accept = headers.get('accept')
  // Who takes anything takes both types that the protocol asks for.
  if (accept === null || accept.includes('*/*')) headers.set('accept', 'application/json, text/event-stream')
  return new Request(request.url, { method: 'POST', headers })
}

/** A stream of changes that never come would only be a connection that stays open. */
function nothingChanges({ id = null }: RpcMessage): Response {
  const error = {
    code: ProtocolErrorCode.MethodNotFound,
    message: 'The tools here never change; there is nothing to listen to.',
  }
  return Response.json({ jsonrpc: '2.0', id, error }, { status: 404 })
}
