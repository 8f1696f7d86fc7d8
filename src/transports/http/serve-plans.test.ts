import { expect, test } from 'vitest'
import { handlerParts } from '../../../test/transports/sample-handler.ts'
import { sampleDialects, sampleOffer, samplePaymentHeader } from '../../../test/transports/sample-x402.ts'
import type { Granted, Intent } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { createHttpHandler } from './create-http-handler.ts'
import { servePlans } from './serve-plans.ts'
import type { SignIn } from './sign-in.ts'

const paying = { 'payment-signature': samplePaymentHeader({ extra: { challengeId: 'http-1' } }) }

/** A handler that sells two plans at addresses of their own. */
function gateway(signIn?: SignIn) {
  const intents: Intent[] = []
  const { fetch } = createHttpHandler({
    engine: {
      offer: () => undefined,
      async purchase(intent) {
        intents.push(intent)
        return { kind: 'challenge', offer: sampleOffer() }
      },
      status: async () => undefined,
    },
    dialects: sampleDialects('https://api.example.com'),
    discovery: { plans: [{ planId: 'basic', unitAmount: '$1.00' }], routes: [] } as never,
    baseUrl: 'https://api.example.com',
    ...handlerParts,
    mounts: [servePlans(['basic', 'data:eu'])],
    ...(signIn && { signIn }),
  })
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(new Request(`http://internal/x402/plans/${path}`, { method, headers }))
  const send = (method: string, headers: Record<string, string> = {}) =>
    get('basic?resourceId=europe', headers, method)
  return { send, get, intents }
}

test('GET asks for the plan, with the payment that it brings', async () => {
  const { send, intents } = gateway()
  expect((await send('GET')).status).toBe(402)
  await send('GET', paying)
  expect(intents).toMatchObject([
    { planId: 'basic', resourceId: 'europe' },
    { planId: 'basic', challengeId: 'http-1', payment: {} },
  ])
})

test('HEAD has the terms of GET and buys nothing: the grant would be in the body that it does not get', async () => {
  const { send, intents } = gateway()
  const terms = await send('HEAD')
  expect([terms.status, terms.headers.has('payment-required'), await terms.text()]).toEqual([402, true, ''])
  const paid = await send('HEAD', paying)
  expect([paid.status, paid.headers.get('x-svc-code')]).toEqual([400, 'INVALID_REQUEST'])
  expect(intents.filter(({ payment }) => payment)).toEqual([])
})

test.each([
  ['resourceId=%E2%82%AC', 'resourceId'],
  ['resourceId=..', 'resourceId'],
  ['resourceId=', 'resourceId'],
  ['resourceId=a%20b', 'resourceId'],
  [`resourceId=${'x'.repeat(129)}`, 'resourceId'],
  ['resourceId=eu&resourceId=us', 'more than once'],
])('%s is refused before money is asked for', async (query, named) => {
  const { get, intents } = gateway()
  for (const headers of [{}, paying]) {
    const answer = await get(`basic?${query}`, headers)
    expect([answer.status, answer.headers.get('x-svc-code')]).toEqual([400, 'INVALID_REQUEST'])
    expect(JSON.stringify(await answer.json())).toContain(named)
  }
  expect(intents).toEqual([])
})

test('a colon of the id may be encoded or not', async () => {
  const { get, intents } = gateway()
  await get('data:eu')
  await get('data%3Aeu')
  expect(intents).toMatchObject([{ planId: 'data:eu' }, { planId: 'data:eu' }])
})

test('a wallet that signs in for what the terms offer gets its purchase again, and what it does not own is sold', async () => {
  const asked: unknown[] = []
  const mine = {
    kind: 'granted',
    cached: true,
    grant: { type: 'AccessGrant' },
    settled: {},
  } as unknown as Granted
  const signIn = (found: Granted | GatewayError | undefined): SignIn => ({
    async fetchAgain(...args) {
      asked.push(args)
      return found
    },
    wallet: async () => new GatewayError('UNAUTHORIZED', 'not asked'),
    offer: (path) => ({ 'sign-in-with-x': path }),
  })
  const proof = { 'sign-in-with-x': 'a proof' }
  const owned = gateway(signIn(mine))
  const answer = await owned.get('basic?resourceId=europe', proof)
  expect([answer.status, answer.headers.get('x-svc-code')]).toEqual([200, 'PROOF_ALREADY_REDEEMED'])
  expect(asked).toEqual([['a proof', '/x402/access', { planId: 'basic', resourceId: 'europe' }, true]])
  expect(owned.intents).toEqual([])
  expect((await gateway(signIn(undefined)).get('basic', proof)).status).toBe(402)
  const bad = await gateway(signIn(new GatewayError('UNAUTHORIZED', 'used before'))).get('basic', proof)
  expect([bad.status, bad.headers.get('www-authenticate')]).toEqual([401, 'sign-in-with-x'])
})
