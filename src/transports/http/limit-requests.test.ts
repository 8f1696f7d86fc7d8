import { expect, test } from 'vitest'
import type { Engine, Outcome, Payment } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { ErrorCode } from '../../protocol/error-codes.ts'
import { countedProof } from './admit.ts'
import { createRequestLimits } from './limit-requests.ts'

const HERE = '203.0.113.7'

const payment = (nonce: number) => ({ rail: 'sample', key: `0xaa:${nonce}` }) as Payment

/** Three payments a minute that sell nothing, and an engine that answers as it is told. */
function limited() {
  let nowMs = 60_000
  const limits = createRequestLimits(3, () => nowMs)
  const purchase = async (): Promise<Outcome> => {
    if (outcome) return outcome
    throw new Error('told to')
  }
  let outcome: Outcome | undefined
  const engine = limits.counting({ purchase } as unknown as Engine)
  const takes = (nonce: number, address = HERE) => limits.failureLimit(address, payment(nonce)).ok
  const comesTo = (nonce: number, come: Outcome | undefined) => {
    outcome = come
    return engine.purchase({ transport: 'http', payment: payment(nonce), address: HERE })
  }
  return {
    limits,
    takes,
    comesTo,
    /** As a transport does: takes it, and asks the engine if it may. */
    async sends(nonce: number, come: Outcome | undefined): Promise<boolean> {
      if (!takes(nonce)) return false
      await comesTo(nonce, come).catch(() => {})
      return true
    },
    async proves(tx: number, come: Outcome | undefined): Promise<boolean> {
      const proof = { txHash: `0x${tx}`, signature: '0x' } as const
      if (!limits.failureLimit(HERE, countedProof(proof)).ok) return false
      outcome = come
      await engine.purchase({ transport: 'a2a', proof, address: HERE }).catch(() => {})
      return true
    },
    later(ms: number) {
      nowMs += ms
    },
  }
}

const failure = (code: ErrorCode): Outcome => ({ kind: 'failed', error: new GatewayError(code, 'told to') })
const granted = (cached: boolean) => ({ kind: 'granted', cached }) as Outcome
const answered = (status: number) =>
  ({ kind: 'resource', cached: false, response: { resource: { status } } }) as Outcome

test('so many payments of an address may come to nothing in a minute', async () => {
  const { sends, takes, later, limits } = limited()
  for (let nonce = 0; nonce < 3; nonce++) expect(await sends(nonce, failure('INVALID_PROOF'))).toBe(true)
  expect(limits.failureLimit(HERE, payment(9))).toMatchObject({ ok: false })
  expect(takes(9, '203.0.113.8'), 'others').toBe(true)
  expect(limits.rateLimit(HERE).ok, 'requests without a payment are counted apart').toBe(true)
  later(120_000)
  expect(takes(9)).toBe(true)
})

test('payments that come together are counted before their outcome is known', async () => {
  const { takes, comesTo } = limited()
  expect([0, 1, 2, 3].map((nonce) => takes(nonce))).toEqual([true, true, true, false])
  await comesTo(0, granted(false))
  expect([takes(4), takes(5)], 'the sale gave its place back').toEqual([true, false])
  await comesTo(1, failure('PAYMENT_FAILED'))
  expect(takes(6)).toBe(false)
})

test.each<[string, Outcome]>([
  ['a result that was sold before', granted(true)],
  ['a payer that asks too often', failure('RATE_LIMITED')],
  ['a call that the backend refuses', answered(404)],
  ['a replay', failure('TX_ALREADY_REDEEMED')],
])('%s is counted', async (_name, outcome) => {
  const { sends } = limited()
  const sent = []
  for (let turn = 0; turn < 4; turn++) sent.push(await sends(7, outcome))
  expect(sent).toEqual([true, true, true, false])
})

test('what never reaches the engine stays counted', () => {
  const { takes } = limited()
  expect([0, 0, 0, 0].map((nonce) => takes(nonce))).toEqual([true, true, true, false])
})

test('a payment that is under way is taken however many others have failed, and gives nothing back', async () => {
  const { sends, takes, comesTo } = limited()
  expect(await sends(7, failure('SETTLEMENT_PENDING'))).toBe(true)
  for (let nonce = 0; nonce < 5; nonce++) await sends(nonce, failure('PAYMENT_FAILED'))
  for (let turn = 0; turn < 5; turn++) expect(await sends(7, failure('SETTLEMENT_PENDING'))).toBe(true)
  expect([takes(7), takes(8)]).toEqual([true, false])
  await comesTo(7, granted(false))
  expect(takes(7), 'over').toBe(false)
})

test('proofs of transfers are counted beside payments, also those that wait for a block; a sale uses nothing up', async () => {
  const { takes, proves } = limited()
  expect(await proves(1, granted(false))).toBe(true)
  expect(await proves(2, undefined), 'our own fault').toBe(true)
  for (let turn = 0; turn < 3; turn++) expect(await proves(3, failure('SETTLEMENT_PENDING'))).toBe(true)
  expect(await proves(3, failure('SETTLEMENT_PENDING'))).toBe(false)
  expect(takes(9), 'a payment').toBe(false)
})

test('sales, what waits, and what is our own fault use nothing up', async () => {
  const { sends, takes } = limited()
  for (let nonce = 0; nonce < 9; nonce++) {
    for (const outcome of [
      failure('SETTLEMENT_PENDING'),
      failure('DELIVERY_FAILED'),
      failure('INTERNAL_ERROR'),
      granted(false),
      answered(200),
      undefined,
    ])
      expect(await sends(nonce, outcome)).toBe(true)
  }
  expect(takes(99)).toBe(true)
})
