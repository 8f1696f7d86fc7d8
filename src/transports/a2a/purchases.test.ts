import { expect, test } from 'vitest'
import { testChallenge } from '../../../test/engine/test-rows.ts'
import type { Dossier, Intent, Outcome } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { Sale } from './challenge-terms.ts'
import { createPurchases } from './purchases.ts'
import { toTask } from './task-view.ts'

const challenge = testChallenge({ key: 'a2a-1', state: 'PENDING', version: 1 })
const dossier = { challenge, attempts: [], receipts: [], refunds: [], audit: [] } as unknown as Dossier
const failure = (code: 'PRICE_UNAVAILABLE' | 'INVALID_REQUEST' | 'INVALID_PROOF'): Outcome => ({
  kind: 'failed',
  error: new GatewayError(code, 'The reason.'),
})

function purchasesThat(outcome: Outcome, offerAgain: () => unknown, stored: Dossier | undefined = dossier) {
  const reported: unknown[] = []
  const engine = { purchase: async () => outcome, inspect: async () => stored }
  const sale = { baseUrl: '', offerAgain, x402: { paymentRequired: () => ({}) } } as unknown as Sale
  return { purchases: createPurchases(engine, sale, (error) => reported.push(error)), reported }
}

const asking: Intent = { transport: 'a2a', challengeId: 'a2a-1' }
const proving: Intent = { ...asking, proof: { txHash: '0x1', signature: '0x2' } }

test('a purchase never rejects, whatever its answer cannot say', async () => {
  const { purchases, reported } = purchasesThat(failure('INVALID_REQUEST'), () => {
    throw new Error('no terms')
  })
  const task = await purchases.run(proving)
  expect(task).toMatchObject({ id: 'a2a-1', state: 'working', payment: 'payment-submitted' })
  expect(task.text).toContain('send the same request again')
  expect(reported).toEqual([new Error('no terms')])
  await purchases.idle()
})

test('who asks for terms that cannot be had now is told of no payment, and to send the same again', async () => {
  const { purchases } = purchasesThat(failure('PRICE_UNAVAILABLE'), () => ({ rails: [] }), undefined)
  const { challengeId: _, ...first } = asking
  const task = await purchases.run(first)
  expect(task).toMatchObject({ state: 'working', text: 'The reason. Send the same request again.' })
  expect(toTask(task, undefined).metadata).toEqual({ 'x402.payment.error': 'PRICE_UNAVAILABLE' })
})

test('what a proof came to is kept until the task is paid in any way, and of no more than 1000 tasks', async () => {
  const { purchases } = purchasesThat(failure('INVALID_PROOF'), () => ({ rails: [] }))
  await purchases.run(asking)
  expect(purchases.proven('a2a-1'), 'nothing was proven').toBeUndefined()
  await purchases.run(proving)
  expect(purchases.proven('a2a-1')).toMatchObject({ state: 'input-required', error: 'INVALID_SIGNATURE' })
  await purchases.run({ ...asking, payment: { key: 'k', echo: {}, claims: [] } as never })
  expect(purchases.proven('a2a-1')).toBeUndefined()
  await purchases.run(proving)
  for (let other = 0; other < 1000; other++) await purchases.run({ ...proving, challengeId: `a2a-x${other}` })
  expect(purchases.proven('a2a-1')).toBeUndefined()
  expect(purchases.proven('a2a-x999')).toBeDefined()
})
