import { type Message, SendMessageRequest, type Task, TaskState } from '@a2a-js/sdk'
import { ClientFactory } from '@a2a-js/sdk/client'
import { ClientFactory as ClientFactory03 } from 'a2a-sdk-03/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AccessGrant } from '../../src/protocol/access.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { dataOf, payloadFor, type RawTask, rawAgent, requiredOf, X402_V02 } from './a2a-agent.ts'
import { EMBEDDED } from './frameworks-apps.ts'
import { CENT, ROUTES, Seller } from './frameworks-seller.ts'
import { STANDALONE } from './frameworks-standalone.ts'
import { eventually, PRICE, startWorld, type World } from './world.ts'

const COMPLETED = {
  status: { state: 'completed' },
  metadata: { 'x402.payment.status': 'payment-completed' },
}

describe.each([
  ...EMBEDDED.map((app) => ({ ...app, onAccess: app.name.startsWith('Express') })),
  { ...STANDALONE, onAccess: true },
])('A2A on $name', ({ prepare, embedded, onAccess }) => {
  let world: World
  let url: string
  let agent: ReturnType<typeof rawAgent>
  beforeAll(async () => {
    const seller = new Seller()
    const { start, options } = await prepare(seller)
    world = await startWorld({
      serve: (gateway, port) => start({ gateway, seller, basePath: '', port }),
      options: {
        routes: ROUTES,
        ...(embedded && { fetchResource: ({ path }) => ({ status: 200, body: { path } }) }),
        ...options,
        // Here a backend answers the routes, whose 2xx alone is a delivery.
        ...(embedded && { routes: ROUTES }),
        a2a: { streaming: true },
      },
    })
    url = world.baseUrl + (onAccess ? '/x402/access' : '/a2a')
    agent = rawAgent(url)
  })
  afterAll(() => world.stop())

  const opens = async (grant: unknown): Promise<boolean> => {
    const { accessToken } = grant as AccessGrant
    return (await world.gateway.verifyBearer(`Bearer ${accessToken}`)).ok
  }

  test('the card at both places names the path that answers', async () => {
    const cards = await Promise.all(
      ['agent.json', 'agent-card.json'].map(async (name) => {
        const response = await fetch(`${world.baseUrl}/.well-known/${name}`)
        expect(response.headers.get('content-type')).toBe('application/json')
        return response.json()
      }),
    )
    expect(cards[0]).toEqual(cards[1])
    expect(cards[0]).toMatchObject({ url, supportedInterfaces: [{ url }, { url }] })
  })

  test('raw JSON-RPC as the specification prints it buys, and the balances prove it', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const books = await world.ledger(buyer)
    const data = {
      type: 'AccessRequest',
      planId: 'basic',
      requestId: 'raw-1',
      resourceId: 'eu',
      clientAgentId: `agent://${buyer.address}`,
    }
    const asked = await agent.rpc('message/send', { message: { parts: [{ kind: 'data', data }] } })
    expect(asked.headers.get('x-a2a-extensions')).toBe(X402_V02)
    expect(asked.headers.get('cache-control')).toBe('no-store, private')
    const required = requiredOf(asked.result)
    expect(asked.result).toMatchObject({
      id: required?.challengeId,
      status: { state: 'input-required', message: { parts: [{ kind: 'text' }, { kind: 'data' }] } },
      metadata: { 'x402.payment.status': 'payment-required' },
    })
    expect(dataOf(asked.result)).toMatchObject({
      type: 'X402Challenge',
      challengeId: required?.challengeId,
      requestId: 'raw-1',
      planId: 'basic',
      resourceId: 'eu',
      amount: '1000000',
      unitAmount: '$1.00',
      chainId: 84532,
      destination: world.seller.address.toLowerCase(),
    })

    const metadata = {
      'x402.payment.status': 'payment-submitted',
      'x402.payment.payload': await payloadFor(buyer, required),
    }
    const parts = [{ kind: 'text', text: 'here is the payment' }]
    const paid = await agent.rpc('message/send', { message: { parts, metadata } })
    expect(paid.result).toMatchObject({ ...COMPLETED, id: required?.challengeId })
    const grant = dataOf(paid.result)
    expect(grant).toMatchObject({
      type: 'AccessGrant',
      requestId: 'raw-1',
      planId: 'basic',
      resourceId: 'eu',
    })
    expect(paid.result?.artifacts?.[0]?.parts[0]?.data).toEqual(grant)
    expect(paid.result?.metadata?.['x402.payment.receipts']).toMatchObject([
      { success: true, transaction: grant?.txHash, network: 'eip155:84532' },
    ])
    expect(await opens(grant)).toBe(true)
    expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
  })

  test('the client of 0.3 finds the card and buys, waiting or polling', async () => {
    const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
    const client = await new ClientFactory03().createFromUrl(world.baseUrl)
    const send = (parts: unknown[], more: object = {}, configuration?: object) =>
      client.sendMessage({
        message: { kind: 'message', role: 'user', messageId: 'm', parts, ...more },
        ...(configuration && { configuration }),
      } as Parameters<typeof client.sendMessage>[0]) as Promise<RawTask>
    const buy = async (requestId: string, configuration?: object) => {
      const asked = await send([
        { kind: 'data', data: { type: 'AccessRequest', planId: 'basic', requestId } },
      ])
      const metadata = { 'x402.payment.payload': await payloadFor(buyer, requiredOf(asked)) }
      const pay = () => send([], { taskId: asked.id, contextId: asked.contextId, metadata }, configuration)
      return { pay, first: await pay() }
    }
    const waited = await buy('old-1')
    expect(waited.first).toMatchObject(COMPLETED)
    expect(await opens(dataOf(waited.first))).toBe(true)

    const polled = await buy('old-2', { blocking: false })
    expect(polled.first).toMatchObject({
      status: { state: 'working' },
      metadata: { 'x402.payment.status': 'payment-submitted' },
    })
    const done = await eventually(async () => {
      const task = (await client.getTask({ id: polled.first.id })) as RawTask
      return task.status.state === 'completed' && task
    })
    expect(JSON.stringify(done)).not.toContain('accessToken')
    expect(await opens(dataOf(await polled.pay()))).toBe(true)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE, PRICE], refunded: [] })
  })

  test('the client of 1.0 finds the card and buys, waiting, polling or streaming', async () => {
    const buyer = await world.chain.newBuyer({ micro: 3n * PRICE })
    const client = await new ClientFactory().createFromUrl(world.baseUrl)
    const request = (message: object, configuration?: object) =>
      SendMessageRequest.fromJSON({
        message: { messageId: 'm', role: 'ROLE_USER', ...message },
        configuration,
      })
    const prepare = async (requestId: string) => {
      const parts = [{ data: { type: 'AccessRequest', planId: 'basic', requestId } }]
      const asked = (await client.sendMessage(request({ parts }))) as Task
      expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
      const required = asked.metadata?.['x402.payment.required'] as PaymentRequired
      const metadata = { 'x402.payment.payload': await payloadFor(buyer, required) }
      return (configuration?: object) => request({ taskId: asked.id, metadata }, configuration)
    }
    const grantOf = (message: Message | undefined) =>
      message?.parts.flatMap(({ content }) => (content?.$case === 'data' ? [content.value] : []))[0]

    const waited = (await client.sendMessage((await prepare('new-1'))())) as Task
    expect(waited.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    expect(await opens(grantOf(waited.status?.message))).toBe(true)

    const polling = await prepare('new-2')
    const first = (await client.sendMessage(polling({ returnImmediately: true }))) as Task
    expect(first.status?.state).toBe(TaskState.TASK_STATE_WORKING)
    await eventually(async () => {
      const task = await client.getTask({ tenant: '', id: first.id })
      return task.status?.state === TaskState.TASK_STATE_COMPLETED
    })
    const fetched = (await client.sendMessage(polling({ returnImmediately: true }))) as Task
    expect(await opens(grantOf(fetched.status?.message)), 'a task that is over is answered at once').toBe(
      true,
    )

    const events: string[] = []
    for await (const { payload } of client.sendMessageStream((await prepare('new-3'))())) {
      if (payload?.$case === 'artifactUpdate') {
        const content = payload.value.artifact?.parts[0]?.content
        events.push(`artifact ${content?.$case === 'data' && (await opens(content.value))}`)
      } else events.push(String(payload?.value.metadata?.['x402.payment.status']))
    }
    expect(events).toEqual(['payment-submitted', 'payment-verified', 'artifact true', 'payment-completed'])
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE, PRICE, PRICE], refunded: [] })
  })

  test('a single call is bought; the message that pays need not repeat it', async () => {
    const buyer = await world.chain.newBuyer({ micro: CENT })
    const resource = { method: 'get', path: '/sell/weather/Oslo?units=c' }
    const asked = await agent.ask({ routeId: 'weather', resource })
    expect(dataOf(asked.result)).toMatchObject({ type: 'X402Challenge', routeId: 'weather', amount: '10000' })
    const paid = await agent.pay(await payloadFor(buyer, requiredOf(asked.result)))
    expect(paid.result).toMatchObject(COMPLETED)
    expect(dataOf(paid.result)).toMatchObject({
      type: 'ResourceResponse',
      routeId: 'weather',
      resource: { status: 200 },
    })
    expect(JSON.stringify(dataOf(paid.result))).toContain('Oslo')
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })

  test('plain x402 and A2A without a header share /x402/access only where the card says so', async () => {
    const plain = rawAgent(`${world.baseUrl}/x402/access`, {})
    const asked = await plain.ask({ planId: 'basic', requestId: 'shared' })
    if (onAccess) {
      expect(asked.result).toMatchObject({ status: { state: 'input-required' } })
      const odd = await rawAgent(`${world.baseUrl}/x402/access`, { 'A2A-Extensions': 'x' }).post({
        planId: 'basic',
      })
      expect(await odd.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 } })
    } else {
      expect(asked).toMatchObject({ httpStatus: 400, error: expect.stringContaining('/discover') })
    }
    expect((await world.access({ planId: 'basic' })).status).toBe(402)
    expect((await rawAgent(`${world.baseUrl}/a2a`, {}).ask({ planId: 'basic' })).result?.kind).toBe('task')
  })
})
