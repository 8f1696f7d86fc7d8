import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Mppx } from 'mppx/client'
import { charge } from 'mppx/evm/client'
import { McpClient } from 'mppx/mcp/client'
import type { DevAccount } from '../../src/testing/index.ts'
import { post, type ToolResult, toolCall } from './mcp-clients.ts'

/** MPP's metadata of a result. */
export interface MppMeta {
  'org.paymentauth/payment-required'?: {
    httpStatus: number
    challenges: Array<Record<string, unknown> & { id: string; realm: string; expires: string }>
    problem: Record<string, unknown>
  }
  'org.paymentauth/receipt'?: Record<string, string>
}

export const metaOf = (result: ToolResult): MppMeta => (result._meta ?? {}) as MppMeta

/** A credential as it travels in `_meta`. */
export interface Credential {
  challenge: Record<string, unknown> & { id: string; realm: string; expires: string }
  payload: Record<string, string>
  source: string
}

export const CREDENTIAL = 'org.paymentauth/credential'

/** USDC's EIP-712 domain on Base Sepolia, which MPP's challenges do not tell. */
const authorization = { name: 'USDC', version: '2' }

const methodsOf = ({ account }: DevAccount) => [charge({ account, authorization })] as const

/** The official MCP client, made to pay by the unmodified client of MPP; `sent` are the credentials that it sent. */
export async function openMppx(url: string, buyer: DevAccount) {
  const sent: Credential[] = []
  const client = new Client({ name: 'test', version: '1.0.0' })
  const watch: typeof fetch = async (input, init) => {
    const text = typeof init?.body === 'string' ? init.body : '{}'
    const credential = JSON.parse(text).params?._meta?.[CREDENTIAL]
    if (credential) sent.push(credential)
    return fetch(input, init)
  }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { fetch: watch }) as never)
  McpClient.wrap(client, { methods: methodsOf(buyer) })
  return {
    sent,
    call: async (name: string, args: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: args })) as unknown as ToolResult & { receipt?: object },
    close: () => client.close(),
  }
}

/** The credential that the client signs for these terms, in the form of a header. */
export async function serialized(buyer: DevAccount, unpaid: ToolResult): Promise<string> {
  const { challenges } = metaOf(unpaid)['org.paymentauth/payment-required']!
  const [method] = methodsOf(buyer)
  return method.createCredential({ challenge: challenges[0] as never, context: undefined as never })
}

/** The same as JSON. */
export async function credentialFor(buyer: DevAccount, unpaid: ToolResult): Promise<Credential> {
  const text = await serialized(buyer, unpaid)
  const wire = JSON.parse(Buffer.from(text.slice('Payment '.length), 'base64url').toString())
  const request = JSON.parse(Buffer.from(wire.challenge.request, 'base64url').toString())
  return { ...wire, challenge: { ...wire.challenge, request } }
}

/** JSON-RPC over MPP's payment-aware fetch, which reads the answers of MCP by itself. */
export function mppxFetch(buyer: DevAccount) {
  const { fetch: payingFetch } = Mppx.create({ methods: methodsOf(buyer), polyfill: false })
  return async (url: string, name: string, args: unknown): Promise<ToolResult> => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const body = JSON.stringify(toolCall(name, args))
    const response = await payingFetch(`${url}/mcp`, { method: 'POST', headers, body })
    return ((await response.json()) as { result: ToolResult }).result
  }
}

/** One call by hand. */
export async function callTool(
  url: string,
  name: string,
  args: unknown,
  meta?: unknown,
  headers: Record<string, string> = {},
): Promise<ToolResult> {
  const response = await post(url, toolCall(name, args, meta), headers)
  return ((await response.json()) as { result: ToolResult }).result
}
