import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Finding } from '../../checks/run-checks.ts'
import { GatewayError } from '../../errors.ts'
import { readBody } from '../../transports/http/read-body.ts'
import { createExchange, detached } from '../../transports/mcp/exchange.ts'
import { parseMessage } from '../../transports/mcp/parse-message.ts'
import { inputSchema, parseArguments } from '../../transports/mcp/tool.ts'
import { VERSION } from '../../version.ts'
import { apiReply } from '../api-reply.ts'
import { PAGE_HEADERS } from '../pages.ts'
import type { AdminApi } from './create-admin-api.ts'
import { OPERATOR_TOOLS, type OperatorTool } from './operator-tools.ts'

const PATH = '/admin/mcp'
const LIMITS = { maxBodyBytes: 64 * 1024, requestTimeoutMs: 10_000 }

export interface OperatorMcpParts {
  api: AdminApi
  agentName: string
  /** Tools that change something are offered. */
  writes: boolean
  /** Absent: there is no tool `doctor`. */
  diagnose?(): Promise<Finding[]>
}

/**
 * The operator's API as MCP tools at `/admin/mcp`, for the operator's own agent. Called for requests that are logged in;
 * undefined: not its path.
 */
export function createOperatorMcp({ api, agentName, writes, diagnose }: OperatorMcpParts): AdminApi {
  const tools = OPERATOR_TOOLS.filter((tool) => {
    return (writes || !tool.writes) && (diagnose !== undefined || tool.name !== 'doctor')
  })
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const card = {
    name: `${agentName} operator`,
    description: `What ${agentName} sold, what waits, and why.`,
    version: VERSION,
    transport: { type: 'streamable-http', url: PATH } as const,
  }
  const instructions = `Sales, refunds and health of the paystile gateway ${agentName}, for its operator. ${
    writes ? 'Some tools send money back: ask first.' : 'Nothing here changes anything.'
  }`
  const listed = tools.map((tool) => ({ kind: 'free' as const, text: () => '', listing: listingOf(tool) }))

  async function run(tool: OperatorTool, args: Record<string, unknown>): Promise<CallToolResult> {
    const call = tool.call(args)
    if (call === 'doctor') return shown(JSON.stringify({ findings: await diagnose?.() }), false)
    // The host is never asked: the request stays in this process.
    const request = new Request(`http://localhost/admin/api${call.path}`, {
      ...(call.body && {
        ...{ method: 'POST', body: JSON.stringify(call.body) },
        headers: { 'content-type': 'application/json' },
      }),
    })
    const response = await api(request, `/admin/api${call.path.split('?')[0]}`)
    if (!response) throw new Error(`${tool.name} asks for ${call.path}, which is not there`)
    return shown(await response.text(), !response.ok)
  }

  const exchange = createExchange(
    card,
    listed,
    async ({ name, args }) => {
      const tool = byName.get(name)
      if (!tool)
        return OPERATOR_TOOLS.some((one) => one.name === name && one.writes) ? onlyLooks(name) : undefined
      const checked = parseArguments(tool.name, tool.args, args)
      if (checked instanceof GatewayError) return shown(JSON.stringify({ error: checked.message }), true)
      return run(tool, checked)
    },
    instructions,
  )

  return async (request, path) => {
    if (path !== PATH) return undefined
    if (request.method !== 'POST')
      return apiReply(405, { error: 'Send MCP messages by POST.' }, { allow: 'POST' })
    const read = await readBody(request, LIMITS)
    if (read.kind === 'fault')
      return apiReply(read.httpStatus ?? read.error.httpStatus, { error: read.error.message })
    const message = parseMessage(read.text)
    if ('fault' in message) {
      const error = { code: message.code, message: message.fault }
      return apiReply(400, { jsonrpc: '2.0', id: null, error })
    }
    const caller = {
      paying: { paysByMpp: false },
      bearer: undefined,
      authorization: null,
      address: undefined,
    }
    const response = await exchange(detached(request), message, caller)
    const type = response.headers.get('content-type')
    const headers = { ...PAGE_HEADERS, ...(type !== null && { 'content-type': type }) }
    return new Response(await response.text().then((text) => text || null), {
      status: response.status,
      headers,
    })
  }
}

function listingOf({ name, description, args, ...tool }: OperatorTool) {
  const writes = tool.writes === true
  const annotations = { readOnlyHint: !writes, destructiveHint: writes, openWorldHint: false }
  return { name, description, inputSchema: inputSchema(args), annotations }
}

/** An agent that knows the tool from elsewhere is told why it is not here. */
const onlyLooks = (name: string): CallToolResult =>
  shown(
    JSON.stringify({
      error: `${name} changes something, and here the operator's agent may only look. The operator allows it by ADMIN_MCP_WRITES=on, or mcpWrites: true in an application.`,
    }),
    true,
  )

function shown(text: string, isError: boolean): CallToolResult {
  return { content: [{ type: 'text', text }], ...(isError && { isError }) }
}
