import { expect, test } from 'vitest'
import { handlerParts } from '../../../test/transports/sample-handler.ts'
import { sampleDialects, sampleOffer, samplePaymentHeader } from '../../../test/transports/sample-x402.ts'
import type { Intent, Outcome } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { Route } from '../../protocol/catalog.ts'
import type { ErrorCode } from '../../protocol/error-codes.ts'
import { CHALLENGE_RANDOM_BYTES, makeChallengeId } from '../../rules/challenge-id.ts'
import { termsOf } from '../../rules/terms.ts'
import { createHttpHandler } from './create-http-handler.ts'

const SOLD: Route[] = [{ routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' }]
const challengeId = makeChallengeId(
  { id: 1, key: new Uint8Array(32) },
  'http',
  1_900_000_000_000,
  new Uint8Array(CHALLENGE_RANDOM_BYTES),
  termsOf({ kind: 'plan', planId: 'basic', resourceId: 'default' }, '1', 'r', 0),
)
const FORMER = { challengeId, routeId: 'chat' }

function gateway(code: ErrorCode) {
  const intents: Intent[] = []
  const http = createHttpHandler({
    engine: {
      offer: () => undefined,
      async purchase(intent): Promise<Outcome> {
        intents.push(intent)
        return { kind: 'failed', error: new GatewayError(code, 'asked the engine'), offer: sampleOffer() }
      },
      status: async () => undefined,
    },
    dialects: sampleDialects('https://api.example'),
    discovery: { plans: [], routes: SOLD } as never,
    baseUrl: 'https://api.example/pay',
    ...handlerParts,
  })
  return { ...http, intents }
}

function paid(path: string, extra: object, method = 'POST'): Request {
  const headers = { 'payment-signature': samplePaymentHeader({ extra }) }
  return new Request(`https://api.example${path}`, {
    method,
    headers,
    ...(method === 'POST' && { body: 'b' }),
  })
}

test('the engine answers a payment that it took for a route which is gone, and offers nothing again', async () => {
  const { fetch, intents } = gateway('PAYMENT_FAILED')
  const answer = await fetch(paid('/pay/chat?a=1', FORMER))
  expect([answer.status, answer.headers.get('payment-required')]).toEqual([402, null])
  expect(intents).toMatchObject([
    {
      transport: 'http',
      routeId: 'chat',
      call: { method: 'POST', path: '/chat?a=1', body: new TextEncoder().encode('b') },
    },
  ])
  expect(intents[0]).not.toHaveProperty('embedded')
})

test.each<ErrorCode>(['ROUTE_NOT_FOUND', 'INVALID_REQUEST'])(
  'a payment that it did not take (%s) is told that there is no such endpoint',
  async (code) => {
    const { fetch, handle, intents } = gateway(code)
    expect((await fetch(paid('/pay/chat', FORMER))).status).toBe(404)
    expect(await handle(paid('/chat', FORMER))).toBeUndefined()
    expect(intents.length).toBe(2)
  },
)

test('on a shared host the body stays unread, for the application that owns the path', async () => {
  const { handle, intents } = gateway('ROUTE_NOT_FOUND')
  const request = paid('/chat', FORMER)
  expect(await handle(request)).toBeUndefined()
  expect(await request.text()).toBe('b')
  expect(intents).toMatchObject([{ call: { path: '/chat', body: null } }])
})

test.each<[string, Request]>([
  ['pays for a plan', paid('/pay/chat', { challengeId, planId: 'basic' })],
  ['repeats the terms of another seller', paid('/pay/chat', { routeId: 'chat' })],
  ['names an id that is none of ours', paid('/pay/chat', { ...FORMER, challengeId: 'theirs' })],
  ['calls what is sold by the application itself', paid('/weather/paris', FORMER, 'GET')],
  ['does not pay', new Request('https://api.example/pay/chat', { method: 'POST' })],
])('a request that %s does not reach the engine', async (_, request) => {
  const { handle, intents } = gateway('PAYMENT_FAILED')
  expect(await handle(request)).toBeUndefined()
  expect(intents).toEqual([])
})
