import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createConnections } from './mcp-connections.ts'

const outputSchema = { type: 'object', properties: { t: { type: 'number' } }, required: ['t'] }
const ends: Array<() => unknown> = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

/** An MCP server whose tool `weather` answers this. */
async function startServer(answer: object): Promise<string> {
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 's', version: '1' },
    },
    'tools/list': { tools: [{ name: 'weather', inputSchema: { type: 'object' }, outputSchema }] },
    'tools/call': answer,
  }
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const { id, method } = JSON.parse(Buffer.concat(await request.toArray()).toString())
    if (id === undefined) return void response.writeHead(202).end()
    const result = results[method]
    const told = result ? { result } : { error: { code: -32601, message: 'no such method' } }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...told }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  ends.push(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

test.each([{}, { structuredContent: { t: '1' } }])(
  'an answer that does not fit the outputSchema of its tool is handed on, with %j',
  async (structured) => {
    const answer = { content: [{ type: 'text', text: 'sunny' }], ...structured, _meta: { receipt: 1 } }
    const url = await startServer(answer)
    const connections = createConnections('0', { maxBytes: 10_000 })
    ends.push(() => connections.close())
    expect(await connections.tools(url)).toEqual([{ name: 'weather', inputSchema: { type: 'object' } }])
    expect(await connections.call(url, { name: 'weather', args: {} })).toEqual(answer)
  },
)
