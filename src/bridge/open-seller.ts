import { readDocument } from '../buyer/capped-body.ts'
import { findOffer } from '../buyer/read-offer.ts'
import { callArguments } from './call-arguments.ts'
import { ask, askCatalog, askDescription } from './gateway-documents.ts'
import { gatewayTools } from './gateway-tools.ts'
import type { McpConnections } from './mcp-connections.ts'
import { sortKeys } from './purchase.ts'
import { type Seller, type SellerTool, toolName } from './seller.ts'

/** Of the tools of one seller, as JSON: those of all go to the assistant in one message, which must not be too long for it. */
const MAX_TOOLS_BYTES = 1024 * 1024

/** Finds out what is sold at an address: a gateway's catalog, the tools of an MCP server, or the address itself. */
export async function openSeller(url: string, connections: McpConnections): Promise<Seller> {
  const faults: string[] = []
  const ways = /\/mcp\/?$/.test(new URL(url).pathname)
    ? [mcpServer, gateway, getAddress, postAddress]
    : [gateway, getAddress, mcpServer, postAddress]
  for (const way of ways) {
    try {
      const seller = await way(url, connections)
      if (seller) return withinMessage(seller)
    } catch (error) {
      faults.push(
        error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error),
      )
    }
  }
  const why = faults.length === 0 ? '' : ` (${faults[0]})`
  throw new Error(`${url} has no catalog at /discover, speaks no MCP and asks for no x402 payment${why}`)
}

/** The seller with as many of its tools as there is room for. */
function withinMessage(seller: Seller): Seller {
  let bytes = 0
  const tools = seller.tools.filter(({ listing }) => {
    bytes += Buffer.byteLength(JSON.stringify(listing))
    return bytes <= MAX_TOOLS_BYTES
  })
  const left = seller.tools.length - tools.length
  if (left === 0) return seller
  const fault = `${left} of its tools are left out: all of them are longer than ${MAX_TOOLS_BYTES} bytes`
  return { ...seller, tools, faults: [...(seller.faults ?? []), fault] }
}

async function gateway(url: string): Promise<Seller | undefined> {
  const base = url.replace(/\/+$/, '')
  const catalog = await askCatalog(base)
  if (!catalog) return undefined
  const { tools, faults } = gatewayTools(base, catalog, await askDescription(base))
  return { url, kind: 'gateway', tools, faults: [...catalog.faults, ...faults] }
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
