import { encodeAbiParameters, type Hex, maxUint256 } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { DevAccount } from '../../src/testing/index.ts'
import { PRICE, startWorld, type World } from '../e2e/world.ts'
import { headerOf, type Payload, sendsOf, signedPayload } from './forge.ts'

const STRANGER = '0x00000000000000000000000000000000000000bb'

// All of it is refused before the two ways to settle part.
describe('a forged payment', () => {
  let world: World
  let buyer: DevAccount
  let books: Awaited<ReturnType<World['ledger']>>
  let sends: number
  beforeAll(async () => {
    world = await startWorld()
    buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    books = await world.ledger(buyer)
    sends = await sendsOf(world)
  })
  afterEach(async () => {
    expect(await sendsOf(world), 'nothing was sent').toBe(sends)
    expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })
  })
  afterAll(() => world.stop())

  /** Signs, bends, pays; with a stored challenge and with one that lives in its id alone. */
  async function attempt(
    forge: (payload: Payload) => Payload | Promise<Payload>,
    signing: Parameters<typeof signedPayload>[2] = {},
  ) {
    const answers = []
    for (const named of [{}, { requestId: `forged-${Math.random()}` }]) {
      const required = await world.terms({ planId: 'basic', ...named })
      const payload = await signedPayload(buyer, required.accepts[0]!, signing)
      const { status, body, receipt } = await world.pay(headerOf(await forge(payload)))
      expect(receipt?.success ?? false).toBe(false)
      expect(await world.status(required.challengeId)).toMatchObject({ state: 'PENDING' })
      answers.push({ status, code: body.code, message: body.message })
    }
    expect(answers[0]).toEqual({ ...answers[1], message: answers[0]!.message })
    return answers[0]!
  }

  test.each([
    ['amount', '1', 'AMOUNT_MISMATCH'],
    ['payTo', STRANGER, 'INVALID_PROOF'],
    ['asset', STRANGER, 'INVALID_PROOF'],
    ['network', 'eip155:8453', 'INVALID_PROOF'],
    ['scheme', 'upto', 'INVALID_PROOF'],
  ])('attack 4: a forged accepted.%s is refused', async (field, value, code) => {
    const answer = await attempt((payload) => ({
      ...payload,
      accepted: { ...payload.accepted, [field]: value },
    }))
    expect(answer).toMatchObject({ status: 400, code })
    expect(answer.message).toContain(`accepted.${field}`)
  })

  test('attack 4: a cheap price that the buyer agrees with itself is refused', async () => {
    const answer = await attempt(
      (payload) => ({ ...payload, accepted: { ...payload.accepted, amount: '1' } }),
      {
        value: '1',
      },
    )
    expect(answer).toMatchObject({ status: 400, code: 'AMOUNT_MISMATCH' })
  })

  test.each([-1n, 1n])('attack 5: a value off by %d is refused', async (off) => {
    const value = String(PRICE + off)
    const signed = await attempt((payload) => payload, { value })
    expect(signed).toMatchObject({ status: 400, code: 'AMOUNT_MISMATCH' })
    expect(signed.message).toContain(value)
    const tampered = await attempt((payload) => {
      payload.payload.authorization.value = value
      return payload
    })
    expect(tampered).toMatchObject({ status: 400, code: 'AMOUNT_MISMATCH' })
  })

  test('attack 6: a payment to anybody but the seller is refused', async () => {
    for (const to of [STRANGER, buyer.address] as const) {
      const answer = await attempt((payload) => payload, { to })
      expect(answer).toMatchObject({ status: 400, code: 'INVALID_PROOF' })
      expect(answer.message).toContain('authorization.to')
    }
  })

  test.each([
    ['chainId', { chainId: 8453 }],
    ['name', { name: 'USD Coin' }],
    ['version', { version: '1' }],
    ['verifyingContract', { verifyingContract: STRANGER as Hex }],
  ])('attack 7: a signature for another %s is refused', async (_field, domain) => {
    const answer = await attempt((payload) => payload, { domain })
    expect(answer).toMatchObject({ status: 400, code: 'INVALID_PROOF' })
    expect(answer.message).toContain('domain')
  })

  test('attack 7: a signature of another network is refused, also when it names that network', async () => {
    const answer = await attempt((payload) => ({ ...payload, network: 'eip155:8453' }), {
      domain: { chainId: 8453 },
    })
    expect(answer).toMatchObject({ status: 400, code: 'INVALID_PROOF' })
    expect(answer.message).toContain('eip155:8453')
  })

  test('attack 8: a token of the buyer’s choice is refused', async () => {
    const fake = world.chain.account(8).address
    const answer = await attempt(
      (payload) => ({ ...payload, accepted: { ...payload.accepted, asset: fake } }),
      { domain: { verifyingContract: fake } },
    )
    expect(answer).toMatchObject({ status: 400, code: 'INVALID_PROOF' })
    expect(answer.message).toContain('accepted.asset')
  })

  test('attack 20: an EIP-6492 wrapper with a factory of the buyer’s choice is refused', async () => {
    const wallet = privateKeyToAddress(generatePrivateKey())
    const answer = await attempt(
      (payload) => {
        const wrapped = encodeAbiParameters(
          [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }],
          [STRANGER, '0xdeadbeef', payload.payload.signature],
        )
        const signature: Hex = `${wrapped}${'6492'.repeat(16)}`
        return { ...payload, payload: { ...payload.payload, signature } }
      },
      { from: wallet },
    )
    expect(answer).toMatchObject({ status: 400, code: 'INVALID_PROOF' })
    expect(answer.message).toContain('EIP-6492')
  })

  test.each([
    ['too close', 5n],
    ['past', -60n],
    ['two hours ahead', 7200n],
    ['the end of time', undefined],
  ])('attack 23: a validBefore that is %s fails before anything is sent', async (_name, ahead) => {
    const { timestamp } = await world.chain.client.getBlock()
    const validBefore = String(ahead === undefined ? maxUint256 : timestamp + ahead)
    const answer = await attempt((payload) => payload, { validBefore })
    expect(answer).toMatchObject({ status: 402, code: 'PAYMENT_FAILED' })
    expect(answer.message).toContain(`validBefore ${validBefore}`)
  })

  test('attack 23: a validBefore above uint256, and a validAfter in the future, fail before anything is sent', async () => {
    for (const validBefore of [String(maxUint256 + 1n), '9'.repeat(78)]) {
      const above = await attempt((payload) => {
        payload.payload.authorization.validBefore = validBefore
        return payload
      })
      expect(above).toMatchObject({ status: 402, code: 'PAYMENT_FAILED' })
      expect(above.message).toContain(`validBefore ${validBefore}`)
    }
    const { timestamp } = await world.chain.client.getBlock()
    const early = await attempt((payload) => payload, { validAfter: String(timestamp + 200n) })
    expect(early).toMatchObject({ status: 402, code: 'PAYMENT_FAILED' })
    expect(early.message).toContain('validAfter')
  })

  test('attack 24: a number that is not plain decimal is refused', async () => {
    const odd = ['1e6', '0x10', '-1', ' 1', '1 ', '+1', '01', '1.0', '', '1'.repeat(80)]
    const cases = [
      ...odd.map((value) => ['value', value] as const),
      ['validAfter', '-1'] as const,
      ['validBefore', '1e12'] as const,
    ]
    const required = await world.terms()
    const payload = await signedPayload(buyer, required.accepts[0]!)
    for (const [field, value] of cases) {
      const { authorization } = payload.payload
      const forged = { ...payload.payload, authorization: { ...authorization, [field]: value } }
      const answer = await world.pay(headerOf({ ...payload, payload: forged }))
      expect(answer, value).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
      expect(answer.body.message, value).toContain(`authorization.${field}`)
    }
  })
})
