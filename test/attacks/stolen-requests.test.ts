import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DevAccount } from '../../src/testing/index.ts'
import { PRICE, type Strategy, startWorld, type World } from '../e2e/world.ts'
import { sendsOf } from './forge.ts'

const PENDING = { status: 503, body: { code: 'SETTLEMENT_PENDING' } }
const NOT_YOURS = { status: 400, body: { code: 'INVALID_PROOF' } }

// Both strategies at once: each waits most of its time. Within one, tests share a chain and go in turn.
describe.concurrent.each<Strategy>(['gas-wallet', 'facilitator'])(
  'somebody else’s requestId, by %s',
  (strategy) => {
    let world: World
    beforeAll(async () => {
      world = await startWorld({ strategy, options: { settleWaitSeconds: 1 } })
    })
    afterAll(() => world.stop())

    const newPair = () =>
      Promise.all([world.chain.newBuyer({ micro: 5n * PRICE }), world.chain.newBuyer({ micro: 5n * PRICE })])

    /** This gateway answers "pending" after a second; the victim sends the same payload until it is served. */
    async function buyPatiently(buyer: DevAccount, body: Record<string, unknown>) {
      const { accepts } = await world.terms(body)
      return world.payUntilDecided(await world.sign(buyer, accepts[0]!), body)
    }

    test.sequential('attack 14: the victim’s requestId without a payment shows the challenge and never the grant', async () => {
      const [victim] = await newPair()
      const body = { planId: 'basic', requestId: 'attack-14' }
      const before = await world.terms(body)
      const granted = await buyPatiently(victim, body)
      const answer = await world.access(body)
      expect(answer).toMatchObject({ status: 402, body: { challengeId: before.challengeId } })
      const said = JSON.stringify([answer.body, [...answer.headers], await world.status(before.challengeId)])
      expect(said).not.toContain(granted.body.accessToken)
      expect(answer.headers.get('payment-response')).toBeNull()
      expect(await world.flows(victim)).toEqual({ paid: [PRICE], refunded: [] })
    })

    test.sequential('attack 15: the attacker’s own signature on a paid challenge is refused and not settled', async () => {
      const [victim, attacker] = await newPair()
      const body = { planId: 'basic', requestId: 'attack-15' }
      const { body: grant } = await buyPatiently(victim, body)
      const books = await world.ledger(victim, attacker)
      const sends = await sendsOf(world)
      const answer = await world.buy(attacker, body)
      expect(answer).toMatchObject(NOT_YOURS)
      expect(answer.body.message).toContain('another payer')
      expect(JSON.stringify(answer.body)).not.toContain(grant.accessToken)
      expect(await sendsOf(world)).toBe(sends)
      expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n, 0n] })
    })

    test.sequential('attack 17: while the victim’s payment is unresolved, no second one is sent, whoever signs it', async () => {
      const [victim, attacker] = await newPair()
      const books = await world.ledger(victim, attacker)
      const body = { planId: 'basic', requestId: 'attack-17' }
      const accepted = (await world.terms(body)).accepts[0]!
      const [first, second, foreign] = await Promise.all([
        world.sign(victim, accepted),
        world.sign(victim, accepted),
        world.sign(attacker, accepted),
      ])
      await world.chain.setAutomine(false)
      expect(await world.pay(first)).toMatchObject(PENDING)
      const sends = await sendsOf(world)
      expect(await Promise.all([world.pay(second), world.pay(foreign)])).toMatchObject([PENDING, NOT_YOURS])
      expect(await sendsOf(world), 'the first one is all that was sent').toBe(sends)

      await world.chain.setAutomine(true)
      await world.chain.mine()
      const granted = await world.pay(first)
      expect(granted).toMatchObject({ status: 200, body: { type: 'AccessGrant' } })
      expect((await world.pay(second)).body).toEqual(granted.body)
      expect(await world.pay(foreign)).toMatchObject(NOT_YOURS)
      expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE, 0n] })
    })

    test.sequential('attack 16: a requestId squatted with another plan is refused to the victim, who is not charged', async () => {
      const [victim, squatter] = await newPair()
      const books = await world.ledger(victim, squatter)
      const requestId = 'attack-16'
      await world.terms({ planId: 'pro', requestId })
      const asked = await world.access({ planId: 'basic', requestId })
      expect(asked).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
      expect(asked.body.message).toContain('pro')
      const own = (await world.terms()).accepts[0]!
      const accepted = { ...own, extra: { ...own.extra, challengeId: undefined, requestId } }
      const paid = await world.pay(await world.sign(victim, accepted as never), {
        planId: 'basic',
        requestId,
      })
      expect(paid).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
      expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n, 0n] })
    })
  },
)
