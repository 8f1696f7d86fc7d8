import fc from 'fast-check'
import { sampleCredential } from './decoders.ts'
import { type Answer, BASE_URL, openGateway, post, type Sample, wireRequest } from './fuzzed-gateway.ts'
import { garble, headerSafe, type Json, render, someChanges, someMutation } from './mutate.ts'
import { renderHeader, someHeader } from './payments.ts'
import { SAMPLE_PROOF } from './sign-in.ts'
import { fault, openTarget, type Target } from './target.ts'

const words = fc.oneof(
  fc.constantFrom('r-1', 'r-2', '', ' ', 'x'.repeat(128), 'x'.repeat(129), '../x', 'a,b', '__proto__'),
  fc.string({ unit: 'binary', maxLength: 20 }),
)
/** Most requests do without. */
const rarely = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: values })
const header = (values: fc.Arbitrary<string>) => rarely(values.map(headerSafe))

function named(headers: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )
}

/** Anything that is JSON, where an answer says so. */
function expectJson(body: string): void {
  if (body !== '') JSON.parse(body)
}

const wordOf = ({ status, headers }: Answer): string =>
  [status, headers.get('x-svc-code')].filter(Boolean).join(' ')

/** POST /x402/access: body, payment and names, each good or not. */
export const accessTarget: Target = {
  name: 'access',
  share: 12,
  async open() {
    const gateway = await openGateway()
    const bodiesOf = ({ challengeId }: Sample): Json[] => [
      {},
      { planId: 'basic' },
      { planId: 'basic', requestId: 'r-1', resourceId: 'default', clientAgentId: 'me' },
      { challengeId, planId: 'basic' },
      { routeId: 'weather', resource: { method: 'GET', path: '/weather/paris?u=c' } },
      {
        routeId: 'report',
        requestId: 'r-2',
        resource: { method: 'POST', path: '/report', body: { a: [1, 'x'] } },
      },
    ]
    // Beside a payment, most of what contradicts it is refused before anything else is looked at.
    const payingBodies = (sample: Sample): Json[] => [
      {},
      { planId: 'basic' },
      { challengeId: sample.challengeId },
      { clientAgentId: 'me' },
      ...bodiesOf(sample).slice(2),
    ]
    return openTarget({
      inputs: fc.record({
        body: someMutation,
        payment: fc.option(someHeader, { nil: undefined }),
        key: header(words),
      }),
      async check({ body, payment, key }) {
        const sample = await gateway.fresh()
        const header = payment && renderHeader(payment, sample.payment)
        const headers = named({ 'payment-signature': header, 'idempotency-key': key })
        const bodies = payment ? payingBodies(sample) : bodiesOf(sample)
        const answer = await gateway.send(post('/x402/access', render(body, bodies), headers))
        expectJson(answer.body)
        if (answer.status === 200) granted(answer.body)
        if (answer.status === 402) expectJson(atob(answer.headers.get('payment-required') ?? ''))
        return wordOf(answer)
      },
      close: gateway.close,
    })
  },
}

/** JSON-RPC may come to /x402/access as well; a 200 that is none is a grant that nobody paid for. */
function granted(body: string): void {
  if (!('jsonrpc' in JSON.parse(body))) fault(`something was sold: ${body.slice(0, 200)}`)
}

const segment = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      'weather',
      'paris',
      'report',
      'free',
      'x402',
      'access',
      'challenges',
      'discover',
      'resource',
      'default',
      '.well-known',
      'agent.json',
      'mcp',
      'a2a',
      'health',
    ),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '',
      '.',
      '..',
      '%2e%2e',
      '%2f',
      '%5c',
      '%00',
      '\\',
      '@evil.com',
      ':80',
      '%',
      'é',
      '%c3%a9',
      ';x=1',
      '__proto__',
      '*',
    ),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
)
const GOOD_TARGETS = [
  '/weather/paris',
  '/weather/x?u=c',
  '/report',
  '/free/x',
  '/free/a%20b?c=d',
  '/discover',
  '/resource/default',
]
const queries = fc.constantFrom('', '', '', '?', '?a=b', '?a=%', '?\\', '?a=/../', '??', '?é')
const target = fc
  .oneof(
    fc.constantFrom(...GOOD_TARGETS),
    fc
      .tuple(fc.constantFrom(...GOOD_TARGETS), someChanges)
      .map(([good, changes]) => `/${garble(good.slice(1), changes)}`),
    fc
      .tuple(fc.array(segment, { minLength: 1, maxLength: 5 }), queries)
      .map(([segments, query]) => `/${segments.join('/')}${query}`),
  )
  // What node lets through as a request target.
  .map((text) => text.replace(/[^\x21-\x7e\x80-\xff]/g, ''))

/** Any request line: paid and free routes, our endpoints, the guarded resource. */
export const routesTarget: Target = {
  name: 'routes',
  share: 8,
  async open() {
    const gateway = await openGateway()
    return openTarget({
      inputs: fc.record({
        method: fc.constantFrom('GET', 'GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH'),
        target,
        payment: rarely(someHeader),
        key: header(words),
        bearer: header(
          fc.oneof(words, fc.constantFrom('Bearer x', 'Bearer a.b.c', 'Bearer ..', 'Basic eA==')),
        ),
      }),
      async check({ method, target: text, payment, key, bearer }) {
        const { seen } = gateway.backend
        seen.length = 0
        const header = payment && renderHeader(payment, (await gateway.fresh()).payment)
        const headers = named({ 'payment-signature': header, 'idempotency-key': key, authorization: bearer })
        const answer = await gateway.send(wireRequest(method, text, headers))
        const { status } = answer
        const url = new URL(BASE_URL + text)
        const unchanged = url.pathname + url.search === text
        // Our own endpoint sells the same whatever query stands behind it.
        if (status === 402 && !unchanged && url.pathname !== '/x402/access')
          fault(`priced ${text}, which URL reads as ${url.pathname}${url.search}`)
        // Free calls alone reach the backend, and there they are what was sent.
        for (const call of seen) {
          if (!/^\/free\/[^/]+$/.test(url.pathname) || call.url !== text || !unchanged)
            fault(`the backend saw ${call.url}`)
        }
        return wordOf(answer)
      },
      close: gateway.close,
    })
  },
}

/** What a message was answered, whichever protocol says it. */
function outcomeOf(body: string): string | undefined {
  return /"code":\s*(-?\d+)/.exec(body)?.[1] ?? /\\?"code\\?":\\?"([A-Z_]+)/.exec(body)?.[1]
}

function messageTarget(
  name: string,
  share: number,
  path: string,
  messages: (sample: Sample) => Json[],
  headers: fc.Arbitrary<Record<string, string>>,
): Target {
  return {
    name,
    share,
    async open() {
      const gateway = await openGateway()
      return openTarget({
        inputs: fc.record({ body: someMutation, headers }),
        async check(input) {
          const text = render(input.body, messages(await gateway.fresh()))
          const { status, body, headers: told } = await gateway.send(post(path, text, input.headers))
          if (told.get('content-type')?.startsWith('application/json')) expectJson(body)
          if (/"accessToken":/.test(body) && !/"x402\.payment\.required"|inputSchema/.test(body))
            fault(`something was sold: ${body.slice(0, 200)}`)
          return [status, outcomeOf(body)].filter(Boolean).join(' ')
        },
        close: gateway.close,
      })
    },
  }
}

const a2aMessages = ({ payment, challengeId, doomedId }: Sample): Json[] => {
  const old = (method: string, params: Json): Json => ({ jsonrpc: '2.0', id: 1, method, params })
  const message = (more: { [key: string]: Json }): Json => ({
    message: {
      kind: 'message',
      role: 'user',
      messageId: 'm',
      parts: [{ kind: 'text', text: 'please' }],
      ...more,
    },
  })
  const access = { type: 'AccessRequest', planId: 'basic', requestId: 'r-1' }
  const paying = { 'x402.payment.status': 'payment-submitted', 'x402.payment.payload': payment }
  const proof = {
    type: 'PaymentProof',
    challengeId,
    txHash: `0x${'1'.repeat(64)}`,
    signature: `0x${'1'.repeat(130)}`,
  }
  const call = {
    type: 'AccessRequest',
    routeId: 'weather',
    resource: { method: 'GET', path: '/weather/paris' },
  }
  return [
    old('message/send', message({ parts: [{ kind: 'data', data: access }] })),
    old('message/send', message({ parts: [{ kind: 'data', data: call }], contextId: 'c' })),
    old('message/send', message({ metadata: paying })),
    old('message/send', message({ parts: [{ kind: 'data', data: proof }] })),
    old('message/stream', message({ metadata: paying, taskId: challengeId })),
    old(
      'message/send',
      message({ metadata: { 'x402.payment.status': 'payment-rejected' }, taskId: doomedId }),
    ),
    old('tasks/get', { id: challengeId }),
    old('tasks/cancel', { id: doomedId }),
    old('tasks/resubscribe', { id: challengeId }),
    old('SendMessage', { message: { role: 'ROLE_USER', messageId: 'm', parts: [{ data: access }] } }),
    old('SendMessage', {
      message: { role: 'ROLE_USER', messageId: 'm', parts: [{ text: 'x' }], metadata: paying },
    }),
    old('GetTask', { id: challengeId }),
  ]
}

/** A2A of both generations. */
export const a2aTarget = messageTarget(
  'a2a',
  7,
  '/a2a',
  a2aMessages,
  header(fc.constantFrom('1.0', '0.3', '0.3.0', '2.0', '', 'x')).map((text) =>
    named({ 'a2a-version': text }),
  ),
)

const mcpMessages = ({ payment }: Sample): Json[] => {
  const call = (tool: string, args: Json, meta?: Json): Json => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: tool, arguments: args, ...(meta !== undefined && { _meta: meta }) },
  })
  const modern = { 'io.modelcontextprotocol/protocolVersion': '2026-03-26' }
  return [
    call('discover_plans', {}),
    call('request_access', { planId: 'basic', requestId: 'r-1' }),
    call('request_access', { planId: 'basic' }, { 'x402/payment': payment }),
    call('request_access', { planId: 'basic' }, { ...modern, 'x402/payment': btoa(JSON.stringify(payment)) }),
    call('weather', { city: 'paris', query: { u: ['c', 1, true] }, requestId: 'r-2' }),
    call('report', { body: { a: 1 } }, { 'x402/payment': payment }),
    call('request_access', { planId: 'basic' }, { 'org.paymentauth/credential': sampleCredential() }),
    call('weather', { city: 'paris', requestId: 'r-3' }, { 'sign-in-with-x': SAMPLE_PROOF }),
    call('weather', { city: 'paris' }, { 'sign-in-with-x': btoa(JSON.stringify(SAMPLE_PROOF)) }),
    { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen' },
  ]
}

const mcpHeaders = fc
  .record({
    accept: header(fc.constantFrom('application/json, text/event-stream', '*/*', 'text/html', '')),
    'mcp-protocol-version': header(fc.constantFrom('2025-06-18', '2026-03-26', '1', 'x')),
    'payment-signature': header(fc.string({ unit: 'binary', maxLength: 60 })),
    authorization: header(fc.constantFrom('Bearer x', 'Bearer a.b.c', 'Payment eA', 'Basic eA==')),
  })
  .map(named)

/** MCP of both generations. */
export const mcpTarget = messageTarget('mcp', 6, '/mcp', mcpMessages, mcpHeaders)
