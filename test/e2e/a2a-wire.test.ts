import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dataOf, payloadFor, rawAgent, requiredOf } from './a2a-agent.ts'
import { PRICE, startWorld, type World } from './world.ts'

let world: World
let agent: ReturnType<typeof rawAgent>
beforeAll(async () => {
  world = await startWorld({ options: { settleWaitSeconds: 1, maxBodyBytes: 64 * 1024 } })
  agent = rawAgent(`${world.baseUrl}/a2a`)
})
afterAll(() => world.stop())

const send = (message: unknown, more: object = {}) => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'message/send',
  params: { message, ...more },
})
const data = (value: unknown) => ({ parts: [{ kind: 'data', data: value }] })

describe('what is malformed gets a JSON-RPC error that names the fault', () => {
  const cases: Array<[string, unknown, number, RegExp]> = [
    ['no JSON', '{', -32700, /not valid JSON/],
    ['a batch', [send(data({ planId: 'basic' }))], -32600, /no object/],
    ['no version', { id: 1, method: 'message/send' }, -32600, /jsonrpc/],
    ['an odd id', { ...send({}), id: {} }, -32600, /id is neither/],
    ['no method', { jsonrpc: '2.0', id: 7 }, -32600, /method is missing/],
    [
      'an unknown method',
      { jsonrpc: '2.0', id: 7, method: 'tasks/steal', params: {} },
      -32601,
      /tasks\/steal/,
    ],
    ['no params', { jsonrpc: '2.0', id: 7, method: 'message/send' }, -32602, /parameters/],
    ['no message', send(undefined), -32602, /message must be an object/],
    ['parts that are none', send({ parts: 'x' }), -32602, /parts must be an array/],
    ['a part that is null', send({ parts: [null] }), -32602, /part must be an object/],
    ['a file part without a file', send({ parts: [{ kind: 'file' }] }), -32602, /params are malformed/],
    ['no plan', send(data({ type: 'AccessRequest' })), -32602, /neither planId nor routeId/],
    ['both', send(data({ planId: 'a', routeId: 'b' })), -32602, /planId and routeId/],
    ['a bad id', send(data({ type: 'AccessRequest', planId: 'a b' })), -32602, /planId must be/],
    ['another type', send(data({ type: 'Order' })), -32602, /"Order"; expected AccessRequest/],
    ['a list for data', send(data([1])), -32602, /expected object, received array/],
    [
      'a payment that is none',
      send({ parts: [], metadata: { 'x402.payment.payload': { x402Version: 1 } } }),
      -32602,
      /x402\.payment\.payload is malformed: x402Version must be 2/,
    ],
    [
      'a payment that is missing',
      send({ parts: [], metadata: { 'x402.payment.status': 'payment-submitted' } }),
      -32602,
      /has no x402\.payment\.payload/,
    ],
    [
      'a rejection of nothing',
      send({ parts: [], metadata: { 'x402.payment.status': 'payment-rejected' } }),
      -32602,
      /needs message\.taskId/,
    ],
    [
      'a task without an id',
      { jsonrpc: '2.0', id: 7, method: 'tasks/get', params: {} },
      -32602,
      /id is missing/,
    ],
    [
      'an unknown task',
      { jsonrpc: '2.0', id: 7, method: 'tasks/get', params: { id: 'x' } },
      -32001,
      /no task x/,
    ],
    [
      'an unknown task to cancel',
      { jsonrpc: '2.0', id: 7, method: 'tasks/cancel', params: { id: 'x' } },
      -32001,
      /x/,
    ],
    [
      'push',
      { jsonrpc: '2.0', id: 7, method: 'tasks/pushNotificationConfig/list', params: { id: 'x' } },
      -32003,
      /./,
    ],
    [
      'the extended card',
      { jsonrpc: '2.0', id: 7, method: 'agent/getAuthenticatedExtendedCard' },
      -32007,
      /./,
    ],
    [
      'a stream where none is offered',
      { ...send(data({ planId: 'basic' })), method: 'message/stream' },
      -32004,
      /./,
    ],
    [
      'a resubscription likewise',
      { jsonrpc: '2.0', id: 7, method: 'tasks/resubscribe', params: { id: 'x' } },
      -32004,
      /./,
    ],
    [
      '1.0: a stream',
      { ...send(data({ planId: 'basic' })), method: 'SendStreamingMessage' },
      -32004,
      /not offered/,
    ],
    ['1.0: a list', { jsonrpc: '2.0', id: 7, method: 'ListTasks', params: {} }, -32004, /not listed/],
    [
      '1.0: no message',
      { jsonrpc: '2.0', id: 7, method: 'SendMessage', params: {} },
      -32602,
      /message is missing/,
    ],
    ['1.0: a part that is null', { ...send({ parts: [null] }), method: 'SendMessage' }, -32602, /malformed/],
  ]
  test.each(cases)('%s', async (_name, body, code, message) => {
    const response = await agent.post(body)
    expect(response.status).toBe(200)
    const answer = (await response.json()) as { jsonrpc: string; error: { code: number; message: string } }
    expect(answer).toMatchObject({ jsonrpc: '2.0', error: { code, message: expect.stringMatching(message) } })
    expect(answer.error.message).not.toMatch(/undefined|null \(reading/)
  })

  test('an unknown version', async () => {
    const response = await agent.post(send(data({ planId: 'basic' })), { 'a2a-version': '2.0' })
    expect(await response.json()).toMatchObject({
      error: { code: -32009, message: expect.stringContaining('2.0') },
    })
  })
})

test('a message that names nothing to buy gets a list of what is sold', async () => {
  const { result } = await agent.rpc('message/send', agent.message([{ kind: 'text', text: 'hello' }]))
  expect(result).toMatchObject({
    kind: 'message',
    role: 'agent',
    parts: [{ kind: 'text' }, { kind: 'data', data: { plans: [{ planId: 'basic' }, { planId: 'pro' }] } }],
  })
})

test('while no block is mined a payment is working, never failed, and is not to be signed again', async () => {
  const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
  const asked = await agent.ask({ planId: 'basic', requestId: 'slow' })
  const payload = await payloadFor(buyer, requiredOf(asked.result))
  const working = {
    status: { state: 'working' },
    metadata: { 'x402.payment.status': 'payment-submitted' },
  }
  await world.chain.setAutomine(false)
  try {
    const pending = await agent.pay(payload)
    expect(pending.result).toMatchObject({ id: asked.result?.id, ...working })
    expect(pending.result?.status.message?.parts[0]?.text).toContain('same payload again')
    expect(pending.result?.metadata).not.toHaveProperty(['x402.payment.error'])
    expect((await agent.ask({ planId: 'basic', requestId: 'slow' })).result).toMatchObject(working)
    expect((await agent.get(asked.result!.id)).result).toMatchObject(working)
  } finally {
    await world.chain.setAutomine(true)
  }
  await world.chain.mine()
  await world.until(asked.result!.id, 'DELIVERED')
  expect(dataOf((await agent.pay(payload)).result)).toMatchObject({ type: 'AccessGrant' })
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
})

function runExample(env: Record<string, string>): Promise<{ stdout: string; stderr: string }> {
  const page = readFileSync(new URL('../../docs/a2a.md', import.meta.url), 'utf8')
  const [, script = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? []
  const settings = { env: { ...process.env, GATEWAY: world.baseUrl, ...env } }
  return promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], settings)
}

test('the example of docs/a2a.md runs as it is', async () => {
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const { stdout } = await runExample({ BUYER_KEY: buyer.privateKey })
  expect(JSON.parse(stdout)).toMatchObject({ state: 'completed', type: 'AccessGrant', planId: 'basic' })
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
})

test('the example of docs/a2a.md says why nothing is to be paid', async () => {
  const { privateKey } = await world.chain.newBuyer()
  await expect(runExample({ BUYER_KEY: privateKey, PLAN: 'gold' })).rejects.toMatchObject({
    stderr: expect.stringMatching(/Error: .*gold/),
  })
})

test('a body over the limit is 413, as JSON-RPC', async () => {
  const response = await agent.post(send({ parts: [{ kind: 'text', text: 'x'.repeat(65 * 1024) }] }))
  expect(response.status).toBe(413)
  expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { data: { code: 'BODY_TOO_LARGE' } } })
})

test('unpaid requests of an address are limited on both paths, and so are payments that sell nothing', async () => {
  const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
  await world.restart({ rateLimitPerMinute: 4 })
  const onAccess = rawAgent(`${world.baseUrl}/x402/access`, {})
  const one = await agent.get('nobody')
  expect(one.error?.code).toBe(-32001)
  const asked = await onAccess.ask({ planId: 'basic', requestId: 'l2' })
  expect(asked.httpStatus, 'counts once').toBe(200)
  const payload = await payloadFor(buyer, requiredOf(asked.result))
  // The sale uses nothing up; each time that its result is fetched again does.
  for (let turn = 0; turn < 4; turn++) expect((await onAccess.pay(payload)).httpStatus).toBe(200)
  expect((await agent.post('{')).status).toBe(200)
  expect((await agent.ask({ planId: 'basic' })).httpStatus).toBe(200)
  const limited = await agent.ask({ planId: 'basic' })
  expect(limited).toMatchObject({ httpStatus: 429, error: { data: { code: 'RATE_LIMITED' } } })
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await onAccess.get('nobody')).httpStatus).toBe(429)
  const fake = { metadata: { 'x402.payment.payload': payload }, taskId: 'nobody', parts: [] }
  expect((await agent.post(send(fake))).status, 'a payment for nothing').toBe(200)
  expect((await agent.post(send(fake))).status, 'is no way around it').toBe(429)
})

test('switched off, it answers 404 and is not mentioned', async () => {
  await world.restart({ a2a: false })
  for (const path of ['/.well-known/agent.json', '/.well-known/agent-card.json']) {
    expect((await fetch(world.baseUrl + path)).status).toBe(404)
  }
  const response = await agent.post(send(data({ planId: 'basic' })))
  expect(response.status).toBe(404)
  expect(JSON.stringify(((await response.json()) as { endpoints: unknown }).endpoints)).not.toMatch(
    /a2a|agent/,
  )
  const plain = await rawAgent(`${world.baseUrl}/x402/access`).ask({ planId: 'basic' })
  expect(plain).toMatchObject({ httpStatus: 400, error: expect.stringContaining('/discover') })
})
