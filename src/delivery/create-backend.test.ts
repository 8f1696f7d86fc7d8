import { expect, test } from 'vitest'
import { routeOrder } from '../../test/delivery/sample-orders.ts'
import { type CallResult, createBackend } from './create-backend.ts'
import { createSeal } from './seal.ts'
import { parseSecretKeys } from './secret-keys.ts'

const seal = createSeal(parseSecretKeys('k'.repeat(32)).sealing)
const call = { method: 'GET', path: '/weather/paris', headers: {}, body: null }

function backendOf(answerCall: () => Promise<CallResult>, given = seal) {
  const chargeRules = new Map([['weather', { per: '/used', unitAmount: '$0.01' }]])
  return createBackend(answerCall, { seal: given, explorerTxUrl: () => 'https://scan/tx/', chargeRules })
}

const answered = (body: string, overrides?: string) => async (): Promise<CallResult> => ({
  raw: { status: 200, headers: [['content-type', 'application/json']], body: Buffer.from(body) },
  overrides,
})

test.each([
  ['calls', backendOf(() => Promise.reject(new RangeError('Maximum call stack size exceeded')))],
  [
    'seals',
    backendOf(answered('{}'), {
      ...seal,
      seal() {
        throw new RangeError('Maximum call stack size exceeded')
      },
    }),
  ],
])('what throws while it %s has failed, and does not count as an unknown outcome', async (_when, backend) => {
  const reason = 'the answer cannot be kept (RangeError)'
  expect(await backend.call(routeOrder, call)).toMatchObject({
    ok: false,
    reason,
    response: { resource: { status: 502, body: { error: reason } } },
  })
})

const deep = '['.repeat(20_000) + ']'.repeat(20_000)

test('JSON that is nested too deep to be written down is delivered as base64', async () => {
  const called = await backendOf(answered(deep)).call(routeOrder, call)
  if (!called.ok) throw new Error(called.reason)
  const resource = { encoding: 'base64', body: Buffer.from(deep).toString('base64') }
  expect(called.response.resource).toMatchObject(resource)
  const opened = await backendOf(answered('')).open(routeOrder, called.sealed)
  expect(opened?.response.resource).toMatchObject(resource)
})

test.each([
  ['its rule', answered(`{"used":${deep}}`), { kind: 'quantity', quantity: 'of an array' }],
  ['its header', answered('{}', `{"amount":${deep}}`), { kind: 'amount', amount: 'of an array' }],
  ['an object', answered('{}', '{"amount":{"a":1}}'), { kind: 'amount', amount: 'of an object' }],
])('a charge by %s that is nested is named, not passed on', async (_by, answerCall, charge) => {
  expect(await backendOf(answerCall).call(routeOrder, call)).toMatchObject({ ok: true, charge })
})
