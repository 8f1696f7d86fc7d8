import { encodeFunctionData, parseGwei } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PaymentRequirements } from '../../src/protocol/payment.ts'
import { type Authorization, type DevAccount, signAuthorization, usdcAbi } from '../../src/testing/index.ts'
import { PRICE, type Strategy, startWorld, type World } from '../e2e/world.ts'
import { headerOf, sendsOf, signedPayload, submitAlone } from './forge.ts'

const PENDING = { status: 503, body: { code: 'SETTLEMENT_PENDING' } }
/** Mined before whatever the gateway sent. */
const FIRST_IN_BLOCK = { maxPriorityFeePerGas: parseGwei('50'), maxFeePerGas: parseGwei('100') }

// Both strategies at once: each waits most of its time. Within one, tests share a chain and go in turn.
describe.concurrent.each<Strategy>(['gas-wallet', 'facilitator'])(
  'between check and block, by %s',
  (strategy) => {
    let world: World
    beforeAll(async () => {
      world = await startWorld({
        strategy,
        options: {
          settleWaitSeconds: 1,
          tokenSecret: undefined,
          // A purchase of this plan that is PAID is refunded, which attack 9 needs.
          fetchResourceCredentials: (planId) => {
            if (planId === 'pro') throw new Error('always fails')
            return 'an-api-key'
          },
        },
      })
    })
    afterAll(() => world.stop())

    /** Pays with mining stopped, lets the attacker act on the mempool, mines one block, and answers the retry. */
    async function actWhilePending(
      planId: string,
      act: (
        payer: DevAccount,
        authorization: Authorization,
        accepted: PaymentRequirements,
      ) => Promise<unknown>,
    ) {
      const payer = await world.chain.newBuyer({ micro: 5n * PRICE })
      await world.chain.fundEth(payer.address, 10n ** 18n)
      const required = await world.terms({ planId })
      const payload = await signedPayload(payer, required.accepts[0]!)
      const before = await world.sellerBalance()
      await world.chain.setAutomine(false)
      expect(await world.pay(headerOf(payload))).toMatchObject(PENDING)
      await act(payer, payload.payload.authorization, required.accepts[0]!)
      await world.chain.setAutomine(true)
      await world.chain.mine()
      const answer = await world.pay(headerOf(payload))
      return { answer, payer, required, payload, before }
    }

    async function cancelAuthorization(cheat: DevAccount, { nonce }: Pick<Authorization, 'nonce'>) {
      const signature = await cheat.account.signTypedData({
        domain: { name: 'USDC', version: '2', chainId: 84532, verifyingContract: world.chain.usdc },
        types: {
          CancelAuthorization: [
            { name: 'authorizer', type: 'address' },
            { name: 'nonce', type: 'bytes32' },
          ],
        },
        primaryType: 'CancelAuthorization',
        message: { authorizer: cheat.address, nonce },
      })
      return world.chain.client.writeContract({
        address: world.chain.usdc,
        abi: usdcAbi,
        functionName: 'cancelAuthorization',
        args: [cheat.address, nonce, signature],
        account: world.chain.account(7).address,
        gas: 200_000n,
        ...FIRST_IN_BLOCK,
      })
    }

    test.sequential('attack 9: the nonce spent on oneself for 1 micro-unit is no payment, and earns no refund', async () => {
      const { answer, payer, required, before } = await actWhilePending(
        'pro',
        async (thief, used, accepted) => {
          const toSelf = { to: thief.address, value: '1', nonce: used.nonce }
          const signed = await signAuthorization({
            account: thief.account,
            requirements: accepted,
            overrides: toSelf,
          })
          await submitAlone(world, signed, FIRST_IN_BLOCK)
        },
      )
      expect(answer).toMatchObject({
        status: 402,
        body: { code: 'PAYMENT_FAILED' },
        receipt: { success: false },
      })
      expect(answer.body.message).toContain('another transfer')
      const { state, txHash } = await world.status(required.challengeId)
      expect({ state, txHash }).toEqual({ state: 'PENDING', txHash: undefined })
      expect(await world.chain.balanceOf(payer.address)).toBe(5n * PRICE)
      expect(await world.sellerBalance()).toBe(before)
      expect(await world.flows(payer)).toEqual({ paid: [], refunded: [] })
    })

    test.sequential('attack 9: 1 micro-unit offered as the price of a plan that fails is refused', async () => {
      const thief = await world.chain.newBuyer({ micro: 5n * PRICE })
      const required = await world.terms({ planId: 'pro' })
      const sends = await sendsOf(world)
      const payload = await signedPayload(thief, required.accepts[0]!, { to: thief.address, value: '1' })
      expect(await world.pay(headerOf(payload))).toMatchObject({
        status: 400,
        body: { code: 'AMOUNT_MISMATCH' },
      })
      expect(await sendsOf(world)).toBe(sends)
      expect(await world.status(required.challengeId)).toMatchObject({ state: 'PENDING' })
      expect(await world.flows(thief)).toEqual({ paid: [], refunded: [] })
    })

    test.sequential('attack 10: an authorization cancelled while it settles fails, and a new one pays', async () => {
      const { answer, payer, required, before } = await actWhilePending('basic', cancelAuthorization)
      expect(answer).toMatchObject({
        status: 402,
        body: { code: 'PAYMENT_FAILED' },
        receipt: { success: false },
      })
      expect(answer.body.message).toContain('cancelled')
      expect(answer.headers.get('payment-required')).not.toBeNull()
      expect(await world.sellerBalance()).toBe(before)

      const anew = await world.payUntilDecided(await world.sign(payer, required.accepts[0]!))
      expect(anew).toMatchObject({ status: 200, body: { challengeId: required.challengeId } })
      expect(await world.flows(payer)).toEqual({ paid: [PRICE], refunded: [] })
      expect(await world.sellerBalance()).toBe(before + PRICE)
    })

    test.sequential('attack 10: an authorization cancelled before it was sent is reported as cancelled, and a new one pays', async () => {
      const payer = await world.chain.newBuyer({ micro: PRICE })
      const required = await world.terms({ planId: 'basic' })
      const payload = await signedPayload(payer, required.accepts[0]!)
      const hash = await cancelAuthorization(payer, payload.payload.authorization)
      await world.chain.client.waitForTransactionReceipt({ hash })
      const sends = await sendsOf(world)
      const answer = await world.pay(headerOf(payload))
      expect(answer).toMatchObject({ status: 402, body: { code: 'PAYMENT_FAILED' } })
      expect(answer.body.message).toContain('the payer cancelled the authorization')
      expect(answer.headers.get('payment-required')).not.toBeNull()
      expect(await sendsOf(world), 'nothing was sent').toBe(sends)
      expect(await world.pay(await world.sign(payer, required.accepts[0]!))).toMatchObject({
        status: 200,
        body: { challengeId: required.challengeId },
      })
      expect(await world.flows(payer)).toEqual({ paid: [PRICE], refunded: [] })
    })

    // The last one: for the facilitator it moves the chain's clock.
    test.sequential('attack 11: a balance drained before the block fails the payment, and nothing is delivered', async () => {
      const { answer, payer, required, payload, before } = await actWhilePending('basic', async (cheat) => {
        await world.chain.client.sendRawTransaction({
          serializedTransaction: await cheat.account.signTransaction({
            type: 'eip1559',
            chainId: 84532,
            to: world.chain.usdc,
            data: encodeFunctionData({
              abi: usdcAbi,
              functionName: 'transfer',
              args: [world.chain.account(9).address, 5n * PRICE],
            }),
            nonce: 0,
            gas: 200_000n,
            ...FIRST_IN_BLOCK,
          }),
        })
      })
      expect(await world.chain.balanceOf(payer.address)).toBe(0n)
      let failed = answer
      if (strategy === 'facilitator') {
        // Its transaction is not ours to judge, and it could send another: only the end of validity is certain.
        expect(answer).toMatchObject(PENDING)
        await world.chain.increaseTime(400)
        failed = await world.payUntilDecided(headerOf(payload))
      }
      expect(failed).toMatchObject({
        status: 402,
        body: { code: 'PAYMENT_FAILED' },
        receipt: { success: false },
      })
      expect(await world.status(required.challengeId)).toMatchObject({ state: 'PENDING' })
      expect(await world.sellerBalance()).toBe(before)
      expect(await world.flows(payer)).toEqual({ paid: [], refunded: [] })
    })
  },
)
