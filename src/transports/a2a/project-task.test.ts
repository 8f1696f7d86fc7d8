import { describe, expect, test } from 'vitest'
import { testChallenge } from '../../../test/engine/test-rows.ts'
import type { Dossier } from '../../engine/outcome.ts'
import { challengeClosed } from '../../engine/refusals.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import { receiptExtension } from '../../protocol/receipts.ts'
import type { Sale } from './challenge-terms.ts'
import { projectTask, receiptsOf } from './project-task.ts'

const challenge = testChallenge({ key: 'a2a-1', state: 'DELIVERED', receipt: 'pays' })
const receipt = (key: string, txHash: string) => ({
  ...{ key, txHash, payer: '0x1', lost: false, rail: challenge.rail },
})
const dossier = (change: object) =>
  ({
    challenge: { ...challenge, ...change },
    attempts: [],
    receipts: [receipt('pays', '0xab'), receipt('surplus', '0xcd')],
  }) as unknown as Dossier

test('the receipt of what paid for the delivery is signed, and that of a surplus is not', () => {
  const [paying, surplus] = receiptsOf(dossier({ signedReceipt: 'a.b.c' }))
  expect(paying).toMatchObject({ transaction: '0xab', extensions: receiptExtension('a.b.c') })
  expect(surplus).toMatchObject({ success: true, transaction: '0xcd' })
  expect(surplus).not.toHaveProperty('extensions')
})

test('a purchase of an earlier version has none', () => {
  for (const one of receiptsOf(dossier({}))) expect(one).not.toHaveProperty('extensions')
})

describe('a task whose metered call failed', () => {
  const said = 'The call failed: the backend answered 500. Nothing was charged.'
  const call = { key: 'the call', payer: challenge.payTo, code: 'CALL_FAILED', said } as const
  const offer = { rails: [{ network: NETWORKS[0], amount: '1' }], challengeId: 'a2a-1' }
  const sale = { offerAgain: () => offer, x402: { paymentRequired: () => ({}) } } as unknown as Sale
  const unpaid = { state: 'PENDING', liveAuth: null, receipt: null } as const
  const attempt = (key: string, phase: string) => ({ key, phase, reason: 'reverted', rail: challenge.rail })
  const paymentOf = (refused: object[], attempts: object[]) =>
    projectTask(
      { challenge: { ...challenge, ...unpaid, refused }, attempts, receipts: [], audit: [] } as never,
      sale,
    ).payment

  test('waits for the same payment, also if another one died before', () => {
    const before = attempt('another', 'DEAD')
    expect(paymentOf([call], [before, attempt('the call', 'RELEASED')])).toBe('payment-submitted')
    expect(paymentOf([call], []), 'the row of the payment is removed after a while').toBe('payment-submitted')
  })

  test('asks for a new payment once that one was sent and died, or another was refused', () => {
    const other = { ...call, key: 'other', code: 'PAYMENT_FAILED' }
    expect(paymentOf([call], [attempt('the call', 'DEAD')])).toBe('payment-failed')
    expect(paymentOf([call, other], [])).toBe('payment-failed')
  })
})

test.each([
  ['EXPIRED', 'failed'],
  ['CANCELLED', 'canceled'],
] as const)('a task that is %s promises of payments no more than the 410 of HTTP', (state, told) => {
  const ended = { ...challenge, state, receipt: null, claimed: false }
  const task = projectTask({ challenge: ended, attempts: [], receipts: [], audit: [] } as never, {} as Sale)
  expect(task).toMatchObject({ state: told, text: challengeClosed(ended).message })
  expect(task.text).toMatch(/no record of an earlier payment .* do not pay again/)
})

test('a task whose metered offer has no rail any more is over', () => {
  const unpaid = { ...challenge, state: 'PENDING', liveAuth: null, receipt: null }
  const sale = { offerAgain: () => ({ rails: [] }) } as unknown as Sale
  const task = projectTask({ challenge: unpaid, attempts: [], receipts: [], audit: [] } as never, sale)
  expect(task).toMatchObject({ state: 'failed', payment: 'payment-failed', error: 'CHALLENGE_EXPIRED' })
  expect(task.text).toContain('is no longer metered')
})
