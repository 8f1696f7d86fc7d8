import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signAuthorization } from '../../src/testing/index.ts'
import { PRICE, type Strategy, startWorld, type World } from '../e2e/world.ts'
import { headerOf, readCalldata, sendsOf, signedPayload, submitAlone } from './forge.ts'

const REDEEMED = { status: 409, body: { code: 'TX_ALREADY_REDEEMED' } }

// Both strategies at once: each waits most of its time. Within one, tests share a chain and go in turn.
describe.concurrent.each<Strategy>(['gas-wallet', 'facilitator'])(
  'a payment used twice, by %s',
  (strategy) => {
    let world: World
    beforeAll(async () => {
      world = await startWorld({ strategy })
    })
    afterAll(() => world.stop())

    async function delivered(body: Record<string, unknown>) {
      const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
      const required = await world.terms(body)
      const payload = await signedPayload(buyer, required.accepts[0]!)
      const granted = await world.pay(headerOf(payload), body)
      expect(granted.status).toBe(200)
      return {
        buyer,
        required,
        payload,
        granted,
        sends: await sendsOf(world),
        books: await world.ledger(buyer),
      }
    }

    test.sequential('attack 1: the same payload 100 times at once settles once, with identical results', async () => {
      const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
      const books = await world.ledger(buyer)
      const body = { planId: 'basic', requestId: 'attack-1' }
      const header = await world.sign(buyer, (await world.terms(body)).accepts[0]!)
      const sends = await sendsOf(world)
      const answers = await Promise.all(Array.from({ length: 100 }, () => world.pay(header, body)))
      expect(answers[0]).toMatchObject({ status: 200, body: { type: 'AccessGrant' } })
      expect(new Set(answers.map(({ status, body: grant }) => JSON.stringify([status, grant]))).size).toBe(1)
      expect(await sendsOf(world)).toBe(sends + 1)
      expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
    })

    test.sequential('attack 2: a settled payload under another requestId is refused, whoever’s challenge it names', async () => {
      const { payload, books, sends } = await delivered({ planId: 'basic', requestId: 'attack-2' })
      expect(await world.pay(headerOf(payload), { planId: 'basic', requestId: 'attack-2b' })).toMatchObject(
        REDEEMED,
      )
      const other = await world.terms({ planId: 'basic', requestId: 'attack-2c' })
      const moved = headerOf({ ...payload, accepted: other.accepts[0]! })
      expect(await world.pay(moved)).toMatchObject(REDEEMED)
      expect(await world.pay(moved, { planId: 'basic', requestId: 'attack-2c' })).toMatchObject(REDEEMED)
      const recordless = await world.terms()
      expect(await world.pay(headerOf({ ...payload, accepted: recordless.accepts[0]! }))).toMatchObject(
        REDEEMED,
      )
      expect(await world.status(other.challengeId)).toMatchObject({ state: 'PENDING' })
      expect(await sendsOf(world)).toBe(sends)
      expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })
    })

    test.sequential('attack 2: one payload raced on ten challenges pays exactly one of them', async () => {
      const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
      const books = await world.ledger(buyer)
      const all = await Promise.all(Array.from({ length: 10 }, () => world.terms()))
      const payload = await signedPayload(buyer, all[0]!.accepts[0]!)
      const answers = await Promise.all(
        all.map(({ accepts }) => world.pay(headerOf({ ...payload, accepted: accepts[0]! }))),
      )
      const codes = answers.map(({ status, body }) => body.code ?? status)
      expect(codes.filter((code) => code === 200)).toHaveLength(1)
      expect(codes.filter((code) => code === 'TX_ALREADY_REDEEMED')).toHaveLength(9)
      expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
    })

    test.sequential('attack 12: a payload rebuilt from public calldata buys nothing under a new requestId', async () => {
      const { granted, books, sends } = await delivered({ planId: 'basic', requestId: 'attack-12' })
      const rebuilt = await readCalldata(world, granted.body.txHash!)
      const own = await world.terms({ planId: 'basic', requestId: 'attack-12-thief' })
      const stolen = { x402Version: 2, payload: rebuilt, accepted: own.accepts[0]! }
      expect(await world.pay(headerOf(stolen))).toMatchObject(REDEEMED)
      const bare = headerOf({ x402Version: 2, payload: rebuilt })
      expect(await world.pay(bare, { planId: 'basic' })).toMatchObject(REDEEMED)
      // Who also knows the victim's ids still lacks the salt.
      expect(await world.pay(bare, { planId: 'basic', requestId: 'attack-12' })).toMatchObject(REDEEMED)
      const fresh = await world.terms({ planId: 'basic', requestId: 'attack-12' })
      expect(
        await world.pay(headerOf({ x402Version: 2, payload: rebuilt, accepted: fresh.accepts[0]! })),
      ).toMatchObject(REDEEMED)
      expect(await sendsOf(world)).toBe(sends)
      expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })
    })

    test.sequential('attack 12: an authorization that was used on chain before it came to us delivers nothing', async () => {
      const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
      const required = await world.terms({ planId: 'basic', requestId: 'attack-12-donor' })
      const signed = await signAuthorization({
        account: buyer.account,
        requirements: required.accepts[0]!,
      })
      await world.chain.client.waitForTransactionReceipt({ hash: await submitAlone(world, signed) })
      const sends = await sendsOf(world)
      const late = headerOf({ x402Version: 2, payload: signed, accepted: required.accepts[0]! })
      expect(await world.pay(late)).toMatchObject(REDEEMED)
      expect(await world.pay(late)).toMatchObject(REDEEMED)
      expect(await world.status(required.challengeId)).toMatchObject({ state: 'PENDING' })
      expect(await sendsOf(world)).toBe(sends)
      expect(await world.flows(buyer), 'a gift, not a purchase').toEqual({ paid: [PRICE], refunded: [] })
    })

    test.sequential('attack 12: a payer’s public authorization that never was ours does not fetch its grant', async () => {
      const body = { planId: 'basic', requestId: 'attack-12-gift' }
      const { buyer, required, granted } = await delivered(body)
      const gift = await signAuthorization({ account: buyer.account, requirements: required.accepts[0]! })
      await world.chain.client.waitForTransactionReceipt({ hash: await submitAlone(world, gift) })
      const sends = await sendsOf(world)
      const { accepts } = await world.terms(body)
      const stolen = await world.pay(headerOf({ x402Version: 2, payload: gift, accepted: accepts[0]! }), body)
      expect(stolen).toMatchObject(REDEEMED)
      expect(JSON.stringify(stolen.body)).not.toContain(granted.body.accessToken)
      expect(await sendsOf(world)).toBe(sends)
    })

    test.sequential('attack 18: a new authorization after delivery gets the cached grant and is not settled', async () => {
      const body = { planId: 'basic', requestId: 'attack-18' }
      const { buyer, required, granted, books, sends } = await delivered(body)
      const anew = await world.sign(buyer, required.accepts[0]!)
      const answers = await Promise.all([world.pay(anew, body), world.pay(anew), world.buy(buyer, body)])
      for (const answer of answers) {
        expect(answer).toMatchObject({ status: 200, body: granted.body })
        expect(answer.headers.get('x-svc-code')).toBe('PROOF_ALREADY_REDEEMED')
      }
      expect(await sendsOf(world)).toBe(sends)
      expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })
    })

    test.sequential('attack 19: another spelling of the same hex is the same payment', async () => {
      const { payload, granted, books, sends } = await delivered({ planId: 'basic', requestId: 'attack-19' })
      const shout = (hex: string) => `0x${hex.slice(2).toUpperCase()}`
      const { authorization, signature } = payload.payload
      const shouted = {
        signature: shout(signature),
        authorization: {
          ...authorization,
          from: shout(authorization.from),
          to: shout(authorization.to),
          nonce: shout(authorization.nonce),
        },
      }
      const same = await world.pay(headerOf({ ...payload, payload: shouted }))
      expect(same).toMatchObject({ status: 200, body: granted.body })
      const other = await world.terms()
      expect(
        await world.pay(headerOf({ x402Version: 2, payload: shouted, accepted: other.accepts[0]! })),
      ).toMatchObject(REDEEMED)
      expect(await sendsOf(world)).toBe(sends)
      expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })
    })
  },
)
