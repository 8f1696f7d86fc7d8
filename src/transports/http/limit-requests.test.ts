import { expect, test } from 'vitest'
import type { Engine, Outcome } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { ErrorCode } from '../../protocol/error-codes.ts'
import type { PaymentPayload } from '../../protocol/payment.ts'
import { createRequestLimits } from './limit-requests.ts'

const HERE = '203.0.113.7'

function payment(nonce: number): PaymentPayload {
  const authorization = { from: '0xaa', nonce: `0x${nonce}` }
  return { x402Version: 2, payload: { signature: '0x', authorization } } as unknown as PaymentPayload
}

/** Three failing payments a minute, and an engine that fails as it is told. */
function limited() {
  let nowMs = 60_000
  const limits = createRequestLimits(3, () => nowMs)
  const purchase = async (): Promise<Outcome> => outcome
  let outcome: Outcome
  const engine = limits.counting({ purchase } as unknown as Engine)
  return {
    limits,
    async fails(code: ErrorCode, nonce: number, address: string | undefined = HERE) {
      outcome = { kind: 'failed', error: new GatewayError(code, 'told to') }
      await engine.purchase({ transport: 'http', payment: payment(nonce), address })
    },
    async succeeds(nonce: number) {
      outcome = { kind: 'granted' } as Outcome
      await engine.purchase({ transport: 'http', payment: payment(nonce), address: HERE })
    },
    allows: (nonce: number, address = HERE) => limits.failureLimit(address, payment(nonce)).ok,
    later(ms: number) {
      nowMs += ms
    },
  }
}

test('so many payments of an address may fail in a minute; asking costs nothing', async () => {
  const { fails, allows, later, limits } = limited()
  for (let nonce = 0; nonce < 3; nonce++) {
    expect(allows(nonce)).toBe(true)
    expect(allows(nonce)).toBe(true)
    await fails('INVALID_PROOF', nonce)
  }
  expect(limits.failureLimit(HERE, payment(9))).toMatchObject({ ok: false })
  expect(allows(9, '203.0.113.8'), 'others').toBe(true)
  expect(limits.rateLimit(HERE).ok, 'requests without a payment are counted apart').toBe(true)
  later(120_000)
  expect(allows(9)).toBe(true)
})

test('a payment that is under way is taken however many others have failed', async () => {
  const { fails, succeeds, allows } = limited()
  await fails('SETTLEMENT_PENDING', 7)
  for (let nonce = 0; nonce < 5; nonce++) await fails('PAYMENT_FAILED', nonce)
  expect([allows(7), allows(8)]).toEqual([true, false])
  await succeeds(7)
  expect(allows(7), 'over').toBe(false)
})

test('what is our own fault, what waits, and what came from nowhere is not counted', async () => {
  const { fails, succeeds, allows } = limited()
  for (let nonce = 0; nonce < 9; nonce++) {
    await fails('SETTLEMENT_PENDING', nonce)
    await fails('DELIVERY_FAILED', nonce)
    await fails('INTERNAL_ERROR', nonce)
    await fails('RATE_LIMITED', nonce)
    await succeeds(nonce)
  }
  expect(allows(99)).toBe(true)
})
