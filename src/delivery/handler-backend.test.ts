import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { routeOrder as order } from '../../test/delivery/sample-orders.ts'
import type { HandlerAnswer, RouteCall } from '../ports.ts'
import { createHandlerBackend } from './handler-backend.ts'
import { createSeal } from './seal.ts'
import { parseSecretKeys } from './secret-keys.ts'

const rule = { per: '/tokens', unitAmount: '$0.000002' }

function backendWith(timeoutMs = 1000) {
  return createHandlerBackend({
    timeoutMs,
    maxBytes: 100,
    explorerTxUrl: () => 'https://scan/tx/',
    chargeRules: new Map([[order.itemId, rule]]),
    seal: createSeal(parseSecretKeys('k'.repeat(32)).sealing),
  })
}

const callOf = (answer: NonNullable<RouteCall['answer']>): RouteCall => ({
  ...{ method: 'POST', path: '/chat', headers: {}, body: null },
  answer,
})
const answering = (change: Partial<HandlerAnswer>) =>
  callOf(async () => ({ status: 200, headers: {}, body: Buffer.from('{"tokens":5}'), ...change }))

test('an answer is stored as it goes out, without what is not for the buyer', async () => {
  const headers = {
    ...{ 'content-type': 'application/json', 'x-own': ['a', 'b'], 'set-cookie': ['s=1'] },
    ...{ 'settlement-overrides': '{"amount":"7"}', 'content-length': '12' },
  }
  const backend = backendWith()
  const called = await backend.call(order, answering({ headers }))
  if (!called.ok) throw new Error('expected an answer')
  expect(called.charge).toEqual({ kind: 'amount', amount: '7' })
  for (const { raw } of [called, (await backend.open(order, called.sealed))!]) {
    expect(raw).toEqual({
      status: 200,
      headers: [
        ['content-type', 'application/json'],
        ['x-own', 'a'],
        ['x-own', 'b'],
      ],
      body: Buffer.from('{"tokens":5}'),
    })
  }
})

test('the charge: by the function, or else the header, or else the rule, also of a compressed answer', async () => {
  const charged = async (change: Partial<HandlerAnswer>) => {
    const called = await backendWith().call(order, answering(change))
    return called.ok ? called.charge : called.reason
  }
  const header = { 'settlement-overrides': '{"amount":"7"}' }
  expect(await charged({ headers: header, overrides: '{"amount":"8"}' })).toMatchObject({ amount: '8' })
  expect(await charged({ headers: header })).toMatchObject({ amount: '7' })
  const body = gzipSync('{"tokens":5}')
  expect(await charged({ headers: { 'content-encoding': 'gzip' }, body })).toEqual({
    ...{ kind: 'quantity', quantity: 5, rule },
  })
})

test('what is too long, cannot be read, is not 2xx or comes too late is no answer', async () => {
  const backend = backendWith(20)
  const tooLong = await backend.call(order, answering({ body: Buffer.alloc(101) }))
  expect(tooLong).toMatchObject({ ok: false, response: { resource: { status: 502 } } })
  const damaged = await backend.call(order, answering({ headers: { 'content-encoding': 'gzip' } }))
  expect(damaged).toMatchObject({ ok: false, response: { resource: { status: 502 } } })
  const failed = await backend.call(order, answering({ status: 404, body: Buffer.from('none') }))
  expect(failed).toMatchObject({ ok: false, raw: { status: 404, body: Buffer.from('none') } })
  const late = await backend.call(
    order,
    callOf(() => new Promise(() => {})),
  )
  expect(late).toMatchObject({
    ok: false,
    response: { resource: { status: 504 } },
    reason: 'the handler did not answer within 0.02 s',
  })
})
