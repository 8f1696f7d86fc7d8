import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Fault, FaultPlan, TestFacilitator } from '../../src/testing/index.ts'
import { eventually, PRICE, startWorld, type World } from './world.ts'

/** What a facilitator may say of a payment that it has sent. */
const UNCERTAIN = { reason: 'settlement_pending' }
const PENDING = { status: 503, body: { code: 'SETTLEMENT_PENDING', retryable: true } }

let world: World
let facilitator: TestFacilitator
let faults: FaultPlan
beforeAll(async () => {
  world = await startWorld({ strategy: 'facilitator', options: { settleWaitSeconds: 1 } })
  facilitator = world.facilitator!
  faults = facilitator.faults
})
afterEach(() => faults.clear())
afterAll(() => world.stop())

async function newPayment() {
  const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
  const required = await world.terms()
  const header = await world.sign(buyer, required.accepts[0]!)
  return { buyer, header, challengeId: required.challengeId, accepted: required.accepts[0]! }
}

describe('a facilitator that sent the payment and then fails', () => {
  const AFTER_SENDING: Fault[] = [
    'broadcast-then-500',
    'broadcast-then-hang',
    'broadcast-then-disconnect',
    'broadcast-then-refuse',
  ]
  test.each(AFTER_SENDING)(
    '%s: the chain decides, and the buyer is served for one transfer',
    async (fault) => {
      const { buyer, header, challengeId } = await newPayment()
      faults.next('settle', fault, UNCERTAIN)
      const granted = await world.pay(header)
      expect(granted).toMatchObject({ status: 200, body: { type: 'AccessGrant', challengeId } })
      expect(granted.body.txHash).toBe(facilitator.broadcasts.at(-1)?.hash)
      expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
      expect(await world.chain.balanceOf(buyer.address)).toBe(4n * PRICE)
    },
  )

  test('while nothing is mined: pending, then all of them are served', async () => {
    const payments = await Promise.all(AFTER_SENDING.map(newPayment))
    for (const fault of AFTER_SENDING) faults.next('settle', fault, UNCERTAIN)
    await world.chain.setAutomine(false)
    const early = await Promise.all(payments.map(({ header }) => world.pay(header)))
    expect(early).toMatchObject(AFTER_SENDING.map(() => PENDING))
    for (const { challengeId } of payments) {
      expect(await world.status(challengeId)).toMatchObject({ state: 'PENDING' })
    }
    await world.chain.setAutomine(true)
    await world.chain.mine()
    for (const { buyer, header, challengeId } of payments) {
      expect(await world.pay(header)).toMatchObject({ status: 200, body: { challengeId } })
      expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    }
  })
})

test('a facilitator that sent nothing, whatever it says, is not believed; the payment is sent again and served once', async () => {
  const NOT_SENT: Fault[] = [
    'lie-success',
    'other-hash',
    'error-500',
    'hang',
    'disconnect',
    'garbage',
    'html',
    'huge',
    'refuse',
  ]
  // Another buyer's real payment: its hash is what other-hash shows.
  expect((await world.buy(await world.chain.newBuyer({ micro: PRICE }))).status).toBe(200)
  const sellerBefore = await world.sellerBalance()
  const payments = []
  for (const fault of NOT_SENT) {
    const payment = await newPayment()
    faults.next('settle', fault, UNCERTAIN)
    const calls = facilitator.calls.settle
    const answer = world.pay(payment.header)
    // Each must meet its own fault, so that the order of calls is the order of faults.
    await eventually(() => facilitator.calls.settle > calls)
    payments.push({ ...payment, fault, answer })
  }
  for (const { fault, answer, challengeId, buyer } of payments) {
    expect(await answer, fault).toMatchObject(PENDING)
    expect(await world.status(challengeId), fault).toMatchObject({ state: 'PENDING' })
    expect(await world.flows(buyer), fault).toEqual({ paid: [], refunded: [] })
  }
  expect(await world.sellerBalance()).toBe(sellerBefore)

  await Promise.all(payments.map(({ challengeId }) => world.until(challengeId, 'DELIVERED')))
  for (const { fault, header, challengeId, buyer } of payments) {
    expect(await world.pay(header), fault).toMatchObject({ status: 200, body: { challengeId } })
    expect(await world.flows(buyer), fault).toEqual({ paid: [PRICE], refunded: [] })
  }
  expect(await world.sellerBalance()).toBe(sellerBefore + BigInt(NOT_SENT.length) * PRICE)
})

test('a facilitator that is late: pending until it has sent, then served', async () => {
  const { buyer, header, challengeId } = await newPayment()
  faults.next('settle', 'late')
  expect(await world.pay(header)).toMatchObject(PENDING)
  expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  faults.release()
  await world.until(challengeId, 'DELIVERED')
  expect(await world.pay(header)).toMatchObject({ status: 200, body: { challengeId } })
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
})

test.each([
  ['invalid_exact_evm_insufficient_balance', 'USDC'],
  ['settlement_failed', 'settlement_failed'],
])('a refusal for the reason %s is a failure: the buyer signs anew and pays once', async (reason, told) => {
  const { buyer, header, challengeId, accepted } = await newPayment()
  faults.next('settle', 'refuse', { reason })
  const refused = await world.pay(header)
  expect(refused).toMatchObject({
    status: 402,
    body: { code: 'PAYMENT_FAILED' },
    receipt: { success: false, transaction: '', errorReason: expect.stringContaining(told) },
  })
  expect(refused.headers.get('payment-required')).not.toBeNull()
  expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  const anew = await world.pay(await world.sign(buyer, accepted))
  expect(anew).toMatchObject({ status: 200, body: { challengeId } })
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
})

test('a payment that was refused and sent all the same: the buyer signs anew, and one of the two goes back', async () => {
  const { buyer, header, challengeId, accepted } = await newPayment()
  await world.chain.setAutomine(false)
  faults.next('settle', 'broadcast-then-refuse')
  const refused = await world.pay(header)
  expect(refused).toMatchObject({ status: 402, body: { code: 'PAYMENT_FAILED' } })
  expect(refused.body.message, 'it cannot know more than the facilitator says').toContain('By its word')
  const anew = world.pay(await world.sign(buyer, accepted))
  await eventually(() => facilitator.broadcasts.length > 1)
  await world.chain.setAutomine(true)
  await world.chain.mine()
  await anew
  await world.until(challengeId, 'DELIVERED')
  const flows = await eventually(async () => {
    await world.chain.mine()
    const seen = await world.flows(buyer)
    return seen.refunded.length > 0 && seen
  })
  expect(flows).toEqual({ paid: [PRICE, PRICE], refunded: [PRICE] })
})

// The last one: it moves the chain's clock.
test('a facilitator that never sends: once validBefore is past, the payment has failed and nothing was charged', async () => {
  const { buyer, header, challengeId } = await newPayment()
  faults.always('settle', 'error-500')
  expect(await world.pay(header)).toMatchObject(PENDING)
  await world.chain.increaseTime(400)
  const failed = await world.payUntilDecided(header)
  expect(failed).toMatchObject({ status: 402, body: { code: 'PAYMENT_FAILED' } })
  expect(failed.body.message).toMatch(/validBefore has passed/)
  expect(await world.status(challengeId)).toMatchObject({ state: 'PENDING' })
  expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
})
