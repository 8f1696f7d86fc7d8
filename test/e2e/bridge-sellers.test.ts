import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { encodeJson } from '../../src/protocol/base64.ts'
import { findNetwork } from '../../src/protocol/networks.ts'
import { type Assistant, newFolder, startAssistant } from './bridge-client.ts'

const { id: network, token } = findNetwork('base-sepolia')!
const payTo = `0x${'22'.repeat(20)}`
const accepts = [{ scheme: 'exact', network, asset: token.address, payTo, amount: '10000', extra: {} }]
const terms = { x402Version: 2, error: 'pay', resource: { url: 'mcp://x' }, accepts }
const receipt = { success: true, transaction: '0xab', network }
const LIMITS = ['--max-amount', '$1.00', '--max-total', '$5.00']
const MIB = 1024 * 1024

let folder: Awaited<ReturnType<typeof newFolder>>
let assistant: Assistant | undefined
let stop: () => void
/** Each payment that the seller took. */
let paid: Set<string>
beforeEach(async () => {
  folder = await newFolder()
  paid = new Set()
})
afterEach(async () => {
  await assistant?.close()
  stop()
  await folder.remove()
})

type Answer = { status?: number; headers?: Record<string, string>; body?: string | Buffer }

/** A seller of anybody's, with an MCP server and a paid address. */
async function startSeller(
  answer: (body: string, headers: Record<string, unknown>) => Answer,
): Promise<string> {
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    const isHere = ['/mcp', '/data'].includes(request.url!)
    const { status = 200, headers = {}, body } = isHere ? answer(text, request.headers) : { status: 404 }
    response.writeHead(status, headers).end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  stop = () => void server.close().closeAllConnections()
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An MCP server with a paid tool `weather`, whose answers need not fit what it says of them. */
function startMcpSeller(structured: object): Promise<string> {
  const outputSchema = { type: 'object', properties: { t: { type: 'number' } }, required: ['t'] }
  const paidAnswer = { content: [{ type: 'text', text: 'sunny' }], ...structured }
  return startSeller((body) => {
    if (body === '') return { status: 405 }
    const { id, method, params } = JSON.parse(body)
    if (id === undefined) return { status: 202 }
    const payment = params?._meta?.['x402/payment']
    if (payment) paid.add(payment.payload.authorization.nonce)
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 's', version: '1' },
      },
      'tools/list': { tools: [{ name: 'weather', inputSchema: { type: 'object' }, outputSchema }] },
      'tools/call': payment
        ? { ...paidAnswer, _meta: { 'x402/payment-response': receipt } }
        : {
            isError: true,
            structuredContent: terms,
            content: [{ type: 'text', text: JSON.stringify(terms) }],
          },
    }
    const told = results[method]
      ? { result: results[method] }
      : { error: { code: -32601, message: 'no such method' } }
    return {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id, ...told }),
    }
  })
}

async function start(url: string, ...flags: string[]): Promise<Assistant> {
  const privateKey = generatePrivateKey()
  const account = privateKeyToAccount(privateKey)
  const buyer = { privateKey, account, address: account.address }
  assistant = await startAssistant([url], { buyer, ledger: folder.path, flags: [...LIMITS, ...flags] })
  return assistant
}

test.each([{}, { structuredContent: { t: '1' } }])(
  'a paid answer that does not fit the outputSchema of its tool is handed on, with %j',
  async (structured) => {
    const bridge = await start(`${await startMcpSeller(structured)}/mcp`)
    // The assistant's client checks answers by the schemas that it has seen.
    expect((await bridge.tools())[0]).not.toHaveProperty('outputSchema')
    const { text, all, isError } = await bridge.call('weather')
    expect([text, isError]).toEqual(['sunny', false])
    expect(all).toContain('Paid $0.01')
    expect(paid.size).toBe(1)
    await bridge.call('weather')
    expect(paid.size).toBe(2)
  },
)

test('the price of a tool with an outputSchema reaches a client that cannot ask', async () => {
  const bridge = await start(`${await startMcpSeller({})}/mcp`, '--confirm')
  await bridge.tools()
  const told = await bridge.call('weather')
  expect(told.text).toMatch(/This costs \$0\.01.*call confirm_payment with code [A-Z0-9]{6}/)
  expect(paid.size).toBe(0)
})

test.each([
  ['of control characters', 3, 1, /^$/],
  ['that is too long for a message', 20, 65, /its 20971520 bytes \(text\/plain\) are in the file/],
])('a paid answer %s cuts no connection', async (_how, mebibytes, byte, text) => {
  const url = await startSeller((_body, headers): Answer => {
    const payment = headers['payment-signature']
    if (payment === undefined) return { status: 402, headers: { 'payment-required': encodeJson(terms) } }
    paid.add(String(payment))
    return {
      headers: { 'content-type': 'text/plain', 'payment-response': encodeJson(receipt) },
      body: Buffer.alloc(mebibytes * MIB, byte),
    }
  })
  const bridge = await start(`${url}/data`)
  const [tool] = await bridge.tools()
  const answer = await bridge.call(tool!.name)
  expect(answer.text).toMatch(text)
  expect(answer.all).toContain('Paid $0.01')
  expect(await bridge.spending()).toMatchObject({ answersWaiting: [], unfinished: [] })
  expect(paid.size).toBe(1)
})
