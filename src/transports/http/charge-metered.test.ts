import { expect, test } from 'vitest'
import { sampleDialects, sampleOffer, samplePaymentHeader } from '../../../test/transports/sample-x402.ts'
import type { HandlerAnswer, Intent, Outcome } from '../../engine/outcome.ts'
import { createChargeRoute } from './charge-route.ts'

const payment = {
  ...{ txHash: '', explorerUrl: '', payer: '0x1', amount: '20000', network: 'eip155:84532' },
  ...{ routeId: 'chat', challengeId: 'http-1', requestId: 'r-1' },
}
const settled = { txHash: '0xab', network: 'eip155:84532', amount: '1858' }
const resource = { status: 200, body: 'hello' }
const { payer: _payer, amount: _amount, network: _network, ...ids } = payment
const answered = (cached = false): Outcome => ({
  kind: 'resource',
  response: { type: 'ResourceResponse', ...ids, txHash: '0xab', resource },
  raw: { status: 200, headers: [['content-type', 'text/plain']], body: Buffer.from('hello') },
  settled,
  cached,
})

/** An engine whose purchase does what the test says. */
async function charging(purchase: (intent: Intent) => Promise<Outcome>, method = 'POST') {
  const charge = createChargeRoute({
    engine: { purchase, finish: async () => undefined, renew: async () => true },
    dialects: sampleDialects('https://api.example'),
    ...{ leaseMs: 30, baseUrl: 'https://api.example', discovery: { plans: [], routes: [] } },
    routes: [{ routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' }],
    maxAnswerBytes: 50,
  })
  const headers = { 'payment-signature': samplePaymentHeader({ extra: { challengeId: 'http-1' } }) }
  return charge(new Request('http://internal/chat', { method, headers }), 'chat')
}

async function metered(purchase: (intent: Intent) => Promise<Outcome>) {
  const charged = await charging(purchase)
  if (charged.kind !== 'metered') throw new Error(`expected metered, got ${charged.kind}`)
  return charged
}
const ok = { status: 200, headers: {}, body: 'hello' }

test('a purchase that ends without the handler is the response: a 402, or a stored answer', async () => {
  const offer = sampleOffer({ kind: 'route', itemId: 'chat', resource: { method: 'POST', path: '/chat' } })
  const unpaid = await charging(async () => ({ kind: 'challenge', offer }))
  expect(unpaid).toMatchObject({ kind: 'respond', response: { status: 402 } })
  const stored = await charging(async () => answered(true))
  if (stored.kind !== 'respond') throw new Error('expected a response')
  expect(await stored.response.text()).toBe('hello')
  expect(stored.response.headers.get('access-control-allow-origin')).toBeNull()
  const head = await charging(async () => answered(true), 'HEAD')
  expect(head.kind === 'respond' && (await head.response.text())).toBe('')
})

test('the handler runs inside the purchase, and what the purchase comes to goes out', async () => {
  let given: HandlerAnswer | undefined
  const charged = await metered(async ({ call }) => {
    given = await call!.answer!(payment)
    return answered()
  })
  expect(charged).toMatchObject({ payment, maxBytes: 50 })
  charged.charge('1')
  charged.charge(1858n)
  const response = await charged.finish({ ...ok, headers: { 'x-own': '1' } })
  expect(given).toEqual({
    ...{ status: 200, headers: { 'x-own': '1' }, body: Buffer.from('hello') },
    overrides: '{"amount":"1858"}',
  })
  expect([response.status, await response.text()]).toEqual([200, 'hello'])
  expect(response).toBe(await charged.response)
})

test('an answer that was not paid does not go out', async () => {
  const charged = await metered(async ({ call }) => {
    await call!.answer!(payment)
    throw new Error('the store is gone')
  })
  const response = await charged.finish(ok)
  expect(response.status).toBe(500)
  expect(await response.text()).not.toContain('hello')
})

test('nothing said, or nothing that is an amount, is told apart', async () => {
  const overridesOf = async (...amounts: unknown[]) => {
    let given: HandlerAnswer | undefined
    const charged = await metered(async ({ call }) => {
      given = await call!.answer!(payment)
      return answered()
    })
    for (const amount of amounts) charged.charge(amount as string)
    await charged.finish(ok)
    return given?.overrides
  }
  expect(await overridesOf()).toBeUndefined()
  expect(await overridesOf(undefined)).toBe('{"amount":null}')
  expect(await overridesOf(Number.NaN)).toBe('{"amount":null}')
})

test('a purchase that ends while the handler runs is told at once; one that asks again gets the same run', async () => {
  const late = await metered(async ({ call }) => {
    void call!.answer!(payment)
    return { ...answered(), settled: { ...settled, failure: 'late' } } as Outcome
  })
  expect((await late.response).headers.get('x-svc-code')).toBe('CALL_FAILED')
  const answers: HandlerAnswer[] = []
  const again = await metered(async ({ call }) => {
    answers.push(await call!.answer!(payment), await call!.answer!(payment))
    return answered()
  })
  await again.finish(ok)
  expect(answers[0]).toBe(answers[1])
})

test('a call that was paid before its route was metered runs as one that is paid; meanwhile, it is asked to come again', async () => {
  const notice = { refund: { state: 'SCHEDULED', when: '2026-11-16T10:00:00.000Z' }, statusUrl: 'x' } as const
  const paid: Outcome = { kind: 'paid', payment, settled, lease: 1, notice }
  expect(await charging(async () => paid)).toMatchObject({ kind: 'paid', payment })
  const charged = await metered(async ({ call }) => {
    await call!.answer!(payment)
    return paid
  })
  const response = await charged.finish(ok)
  expect([response.status, response.headers.get('x-svc-code')]).toEqual([503, 'SETTLEMENT_PENDING'])
})
