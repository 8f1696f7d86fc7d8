import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfiguration } from '../../src/config/read-configuration.ts'
import { type FuzzedGateway, openGateway, post } from './fuzzed-gateway.ts'

let gateway: FuzzedGateway
beforeAll(async () => {
  gateway = await openGateway()
})
afterAll(() => gateway.close())

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const rpc = (method: string, params: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`

const WAYS: Array<[string, (value: string) => string]> = [
  [
    '/x402/access',
    (value) => `{"routeId":"report","resource":{"method":"POST","path":"/report","body":${value}}}`,
  ],
  ['/a2a', (value) => rpc('message/send', `{"message":{"parts":[],"messageId":${value}}}`)],
  ['/mcp', (value) => rpc('tools/call', `{"name":"report","arguments":{"body":${value}}}`)],
]

test.each(WAYS)(
  '%s refuses a body that is nested a hundred thousand levels deep, and says so',
  async (path, around) => {
    for (const levels of [1000, 100_000]) {
      const { status, body } = await gateway.send(post(path, around(deep(levels))))
      expect(status).toBe(400)
      expect(body).toContain('nested more than 200 levels deep')
    }
    expect((await gateway.send(post(path, around(deep(50))))).status).not.toBe(500)
  },
)

test.each(WAYS)(
  '%s refuses a number that it would pass on as another one, and says so',
  async (path, around) => {
    const { status, body } = await gateway.send(post(path, around('{"id":9007199254740993}')))
    expect([status, body]).toEqual([400, expect.stringContaining('the number 9007199254740993')])
    const kept = await gateway.send(post(path, around('{"id":"9007199254740993","price":1.10}')))
    expect(kept.body).not.toContain('the number')
  },
)

test('A2A: ids of a message that are no text are the client’s fault', async () => {
  for (const field of ['taskId', 'contextId']) {
    for (const value of ['["x"]', '7', '{}', 'true']) {
      const params = `{"message":{"kind":"message","role":"user","messageId":"m","parts":[],"${field}":${value}}}`
      const { body } = await gateway.send(post('/a2a', rpc('message/send', params)))
      expect(JSON.parse(body).error).toMatchObject({ code: -32602 })
    }
  }
})

test('MCP: params that the protocol’s library cannot read are reported as the client’s fault, in our words', async () => {
  const params = '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":"me"}'
  const { body } = await gateway.send(post('/mcp', rpc('initialize', params)))
  const { error } = JSON.parse(body)
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('params.clientInfo') })
  expect(error.message).not.toContain('invalid_type')
})

test('configuration: the path of a file is shown in one line, and a long word does not make the comparison slow', () => {
  const read = (env: Record<string, string>) =>
    readConfiguration(env, {}, () => {
      throw new Error('absent')
    }).faults
  const [line] = read({ TOKEN_SECRET_FILE: `/a\nb${'c'.repeat(5000)}` })
  expect(line).toMatch(/^TOKEN_SECRET_FILE names \/a\?bc+\.\.\., which cannot be read\.$/)
  expect(read({ PLANS: deep(100_000) })[0]).toContain('PLANS is no valid JSON at line 1, column 102')
  expect(read({ SVC_NETWORK: 'x'.repeat(1_000_000) })[0]!.length).toBeLessThan(300)
})
