import {
  type CacheEntry,
  type CacheKey,
  type CallToolResult,
  Client,
  InMemoryResponseCacheStore,
  StreamableHTTPClientTransport,
  type Tool,
} from '@modelcontextprotocol/client'
import { capResponse } from '../buyer/capped-body.ts'

/** Paid MCP servers, each connected when it is first needed, and anew after its connection broke. */
export interface McpConnections {
  /** Without their output schemas: an answer that was paid for is handed on, whether it fits its schema or not. */
  tools(url: string): Promise<Tool[]>
  call(
    url: string,
    call: { name: string; args: Record<string, unknown>; meta?: Record<string, unknown> | undefined },
    signal?: AbortSignal,
  ): Promise<CallToolResult>
  close(): Promise<void>
}

const CONNECT_TIMEOUT_MS = 15_000
/** Of one attempt; the buyer sends the same payment again after it. */
const CALL_TIMEOUT_MS = 90_000
const MAX_PAGES = 20

export function createConnections(
  version: string,
  { maxBytes }: { maxBytes: number },
  fetchOnce: typeof fetch = fetch,
): McpConnections {
  const clients = new Map<string, Promise<Client>>()

  async function connect(url: string): Promise<Client> {
    const client = new Client(
      { name: 'paystile-bridge', version },
      { versionNegotiation: { mode: 'auto' }, responseCacheStore: new ListsWithoutOutputSchemas() },
    )
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      fetch: async (input, init) => capResponse(await fetchOnce(input, init), maxBytes),
      // A payment goes to the address that the user named, and nowhere else.
      requestInit: { redirect: 'error' },
    })
    await client.connect(transport, { timeout: CONNECT_TIMEOUT_MS })
    return client
  }

  async function at<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
    const connected = clients.get(url) ?? connect(url)
    clients.set(url, connected)
    try {
      return await use(await connected)
    } catch (error) {
      // Its session may have ended with it; whoever calls again gets a new one.
      if (!isAnswer(error) && clients.get(url) === connected) {
        clients.delete(url)
        void connected.then((client) => client.close()).catch(() => {})
      }
      throw error
    }
  }

  return {
    tools: (url) =>
      at(url, async (client) => {
        const tools: Tool[] = []
        let cursor: string | undefined
        for (let page = 0; page < MAX_PAGES; page++) {
          const listed = await client.listTools(cursor === undefined ? {} : { cursor }, {
            timeout: CONNECT_TIMEOUT_MS,
          })
          tools.push(...listed.tools.map(withoutOutputSchema))
          cursor = listed.nextCursor
          if (cursor === undefined) break
        }
        return tools
      }),
    call: (url, { name, args, meta }, signal) =>
      at(url, async (client) => {
        const params = { name, arguments: args, ...(meta && { _meta: meta }) }
        const options = { timeout: CALL_TIMEOUT_MS, ...(signal && { signal }) }
        return (await client.callTool(params, options)) as CallToolResult
      }),
    async close() {
      const open = [...clients.values()]
      clients.clear()
      await Promise.allSettled(open.map(async (client) => (await client).close()))
    },
  }
}

/**
 * The lists of tools that the SDK keeps of a server. By the output schemas in them it would check answers, and throw away
 * one that does not fit, with its receipt; the bridge would take that for the server's refusal.
 */
class ListsWithoutOutputSchemas extends InMemoryResponseCacheStore {
  override set(key: CacheKey, entry: Omit<CacheEntry, 'stamp'>): number {
    if (key.method !== 'tools/list') return super.set(key, entry)
    const { tools, ...list } = JSON.parse(entry.value) as { tools: Tool[] }
    return super.set(key, {
      ...entry,
      value: JSON.stringify({ ...list, tools: tools.map(withoutOutputSchema) }),
    })
  }
}

function withoutOutputSchema({ outputSchema: _, ...tool }: Tool): Tool {
  return tool
}

/** The server's own refusal, in contrast to an answer that was lost. */
export function isAnswer(error: unknown): error is Error & { code: number } {
  return error instanceof Error && 'code' in error && typeof error.code === 'number'
}
