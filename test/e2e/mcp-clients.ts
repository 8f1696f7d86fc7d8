import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ExactEvmScheme } from '@x402/evm'
import { x402Client } from '@x402/fetch'
import type { PaymentRequired, SettleResponse } from '../../src/protocol/payment.ts'
import { type DevAccount, paymentPayload, signAuthorization } from '../../src/testing/index.ts'

/** The result of a tool call, as every client hands it out. */
export interface ToolResult {
  content: Array<{ type: string; text: string }>
  isError?: boolean
  structuredContent?: Partial<PaymentRequired>
  _meta?: { 'x402/error'?: PaymentRequired; 'x402/payment-response'?: SettleResponse }
}

export interface Session {
  call(name: string, args: Record<string, unknown>, meta?: Record<string, unknown>): Promise<ToolResult>
  tools(): Promise<Array<{ name: string; description?: string; inputSchema: object; outputSchema?: object }>>
  close(): Promise<void>
}

/** What a result says in its text. */
export const said = (result: ToolResult): Record<string, unknown> => JSON.parse(result.content[0]!.text)

const CLIENT = { name: 'test', version: '1.0.0' }
/** As SPEC.md asks for them. */
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/** The body of a tool call. */
export function toolCall(name: string, args: unknown, meta?: unknown) {
  return {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: args, ...(meta !== undefined && { _meta: meta }) },
  }
}

/** JSON-RPC by hand: no handshake, one POST per call. */
export async function openRaw(url: string): Promise<Session> {
  const send = async (body: unknown) => {
    const response = await post(url, body)
    const { result, error } = (await response.json()) as { result?: never; error?: { message: string } }
    if (error) throw new Error(error.message)
    return result as unknown
  }
  return {
    call: async (name, args, meta) => (await send(toolCall(name, args, meta))) as ToolResult,
    tools: async () =>
      ((await send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })) as { tools: never[] }).tools,
    close: async () => {},
  }
}

export async function openV1(url: string): Promise<Session> {
  const client = new ClientV1(CLIENT)
  await client.connect(new TransportV1(new URL(`${url}/mcp`)) as never)
  return {
    // Listed first, so that the client would check an outputSchema if there were one.
    async call(name, args, _meta) {
      await client.listTools()
      return (await client.callTool({ name, arguments: args, ...(_meta && { _meta }) })) as ToolResult
    },
    tools: async () => (await client.listTools()).tools as never,
    close: () => client.close(),
  }
}

function openV2(mode: 'legacy' | 'auto') {
  return async (url: string): Promise<Session> => {
    const client = new ClientV2(CLIENT, { versionNegotiation: { mode } })
    await client.connect(new TransportV2(new URL(`${url}/mcp`)))
    return {
      async call(name, args, _meta) {
        await client.listTools()
        return (await client.callTool({ name, arguments: args, ...(_meta && { _meta }) })) as ToolResult
      },
      tools: async () => (await client.listTools()).tools as never,
      close: () => client.close(),
    }
  }
}

/** The payload that a buyer of our own makes of terms. */
export async function payloadFor(buyer: DevAccount, terms: Partial<PaymentRequired> | undefined) {
  const accepted = terms!.accepts![0]!
  const signed = await signAuthorization({ account: buyer.account, requirements: accepted })
  return paymentPayload({ accepted, ...signed })
}

/** The signature in what goes into `_meta["x402/payment"]`, as an object or as base64 text. */
export function signatureOf(payment: unknown): string {
  const payload = typeof payment === 'string' ? JSON.parse(atob(payment)) : payment
  return (payload as { payload: { signature: string } }).payload.signature
}

/**
 * Cloudflare's client: it looks at `_meta["x402/error"]` alone, lets the official x402 client sign, and sends the
 * payload as base64 text.
 */
async function cloudflarePayment(buyer: DevAccount, { _meta }: ToolResult): Promise<string> {
  const { x402Version, resource, accepts } = _meta!['x402/error']!
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(buyer.account))
  const payload = await client.createPaymentPayload({ x402Version, resource, accepts } as never)
  return btoa(JSON.stringify(payload))
}

export interface Buyer {
  name: string
  open(url: string): Promise<Session>
  /** What goes into `_meta["x402/payment"]`. */
  sign(buyer: DevAccount, unpaid: ToolResult): Promise<unknown>
}

const own: Buyer['sign'] = (buyer, unpaid) => payloadFor(buyer, unpaid.structuredContent)
const fromText: Buyer['sign'] = (buyer, unpaid) => payloadFor(buyer, said(unpaid) as never)

export const BUYERS: Buyer[] = [
  { name: 'the v1 client', open: openV1, sign: own },
  { name: 'the v2 client', open: openV2('legacy'), sign: own },
  { name: 'the v2 client by the 2026 protocol', open: openV2('auto'), sign: own },
  { name: 'raw JSON-RPC', open: openRaw, sign: fromText },
  { name: 'Cloudflare’s x402 client', open: openV1, sign: cloudflarePayment },
]
