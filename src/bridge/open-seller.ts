import { readDocument } from '../buyer/capped-body.ts'
import { findOffer } from '../buyer/read-offer.ts'
import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import { callArguments } from './call-arguments.ts'
import { type Description, gatewayTools } from './gateway-tools.ts'
import type { McpConnections } from './mcp-connections.ts'
import { sortKeys } from './purchase.ts'
import { type Seller, type SellerTool, toolName } from './seller.ts'

const ASK_TIMEOUT_MS = 15_000

/** Finds out what is sold at an address: a gateway's catalog, the tools of an MCP server, or the address itself. */
export async function openSeller(url: string, connections: McpConnections): Promise<Seller> {
  const faults: string[] = []
  const ways = /\/mcp\/?$/.test(new URL(url).pathname)
    ? [mcpServer, gateway, getAddress, postAddress]
    : [gateway, getAddress, mcpServer, postAddress]
  for (const way of ways) {
    try {
      const seller = await way(url, connections)
      if (seller) return seller
    } catch (error) {
      faults.push(
        error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error),
      )
    }
  }
  const why = faults.length === 0 ? '' : ` (${faults[0]})`
  throw new Error(`${url} has no catalog at /discover, speaks no MCP and asks for no x402 payment${why}`)
}

async function gateway(url: string): Promise<Seller | undefined> {
  const base = url.replace(/\/+$/, '')
  const catalog = (await askJson(`${base}/discover`)) as Partial<DiscoveryCatalog> | undefined
  if (!Array.isArray(catalog?.plans) || !Array.isArray(catalog.routes)) return undefined
  const description = (await askJson(`${base}/openapi.json`).catch(() => undefined)) as
    | Description
    | undefined
  return { url, kind: 'gateway', tools: gatewayTools(base, catalog as DiscoveryCatalog, description) }
}

async function mcpServer(url: string, connections: McpConnections): Promise<Seller> {
  const listed = await connections.tools(url)
  const tools = listed.map((listing): SellerTool => {
    const { name } = listing
    return {
      listing: { ...listing, name: toolName(name) },
      purchaseOf: (args) => ({
        kind: 'tool',
        url,
        tool: name,
        args: sortKeys(args) as Record<string, unknown>,
      }),
    }
  })
  return { url, kind: 'MCP server', tools }
}

const getAddress = (url: string) => paidAddress(url, 'GET')
const postAddress = (url: string) => paidAddress(url, 'POST')

async function paidAddress(url: string, method: 'GET' | 'POST'): Promise<Seller | undefined> {
  const response = await ask(url, { method })
  const text = (await readDocument(response)) ?? ''
  const offer =
    response.status === 402 ? findOffer(response.headers.get('payment-required'), text) : undefined
  if (!offer) return undefined
  const { inputSchema, callOf } = callArguments({ method, url })
  const { description } = (offer.resource ?? {}) as { description?: unknown }
  const what = typeof description === 'string' && description !== '' ? `${description} ` : ''
  const { host, pathname } = new URL(url)
  const tool: SellerTool = {
    listing: {
      name: toolName(
        `${method.toLowerCase()}_${host}${pathname}`.replace(/[^A-Za-z0-9]+/g, '_').replace(/_+$/, ''),
      ),
      description: `${what}${method} ${url}; the price is told by the seller when it is called.`,
      inputSchema,
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    },
    purchaseOf(args) {
      const call = callOf(args)
      return typeof call === 'string' ? call : { kind: 'call', ...call }
    },
  }
  return { url, kind: 'paid address', tools: [tool] }
}

function ask(url: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(ASK_TIMEOUT_MS) })
}

async function askJson(url: string): Promise<unknown> {
  const response = await ask(url)
  const text = await readDocument(response)
  if (!response.ok || text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
