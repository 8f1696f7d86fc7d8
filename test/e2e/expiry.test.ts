import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, PRICE, startWorld, type World } from './world.ts'

async function logOf({ gateway }: World, challengeId: string) {
  const entries = await gateway.backstage.store.audit(challengeId)
  return entries.map(({ event, fromState, toState, actor }) => ({ event, fromState, toState, actor }))
}

const CANCELLED_BY_BUYER = [
  { event: 'created', fromState: null, toState: 'PENDING', actor: 'buyer' },
  { event: 'cancelled', fromState: 'PENDING', toState: 'CANCELLED', actor: 'buyer' },
]
const GONE = { status: 410, body: { code: 'CHALLENGE_EXPIRED' } }

describe('a challenge that nobody pays in time', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld({ options: { challengeTtlSeconds: 3, settleWaitSeconds: 1 } })
  })
  afterAll(() => world.stop())

  const untilExpired = async (challengeId: string) =>
    eventually(async () => (await world.status(challengeId)).state === 'EXPIRED')

  test('expires, stored or not; a payment then is refused and not charged; the requestId opens a new one', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const books = await world.ledger(buyer)
    const body = { planId: 'basic', requestId: 'late' }
    const [stored, recordless] = await Promise.all([world.terms(body), world.terms()])
    const ttl = new Date((await world.status(stored.challengeId)).expiresAt).getTime() - Date.now()
    expect(ttl).toBeLessThanOrEqual(3000)
    const headers = await Promise.all(
      [stored, recordless].map(({ accepts }) => world.sign(buyer, accepts[0]!)),
    )
    await untilExpired(recordless.challengeId)
    await untilExpired(stored.challengeId)
    for (const header of headers) {
      const late = await world.pay(header)
      expect(late).toMatchObject(GONE)
      expect(late.body.message).toMatch(/expired at .* nothing was charged/)
    }
    expect(await world.pay(headers[0]!, body)).toMatchObject(GONE)
    expect(await logOf(world, stored.challengeId), 'whole').toEqual([
      { event: 'created', fromState: null, toState: 'PENDING', actor: 'buyer' },
      { event: 'expired', fromState: 'PENDING', toState: 'EXPIRED', actor: 'gateway' },
    ])
    expect(await logOf(world, recordless.challengeId), 'never stored, never logged').toEqual([])

    const reopened = await world.terms(body)
    expect(reopened.challengeId).not.toBe(stored.challengeId)
    expect(await world.pay(headers[0]!, body), 'the old terms stay closed').toMatchObject({ status: 410 })
    expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })

    const paid = await world.pay(await world.sign(buyer, reopened.accepts[0]!), body)
    expect(paid).toMatchObject({
      status: 200,
      body: { challengeId: reopened.challengeId, requestId: 'late' },
    })
    expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
  })

  test('does not expire while its payment is in flight, and a delivered one never does', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const required = await world.terms()
    const header = await world.sign(buyer, required.accepts[0]!)
    await world.chain.setAutomine(false)
    expect(await world.pay(header)).toMatchObject({ status: 503, body: { code: 'SETTLEMENT_PENDING' } })
    const { expiresAt } = await world.status(required.challengeId)
    await eventually(() => Date.now() > new Date(expiresAt).getTime())
    expect(await world.pay(header)).toMatchObject({ status: 503 })
    expect(await world.status(required.challengeId)).toMatchObject({ state: 'PENDING' })
    await world.chain.setAutomine(true)
    await world.chain.mine()
    const granted = await world.pay(header)
    expect(granted).toMatchObject({ status: 200, body: { type: 'AccessGrant' } })
    expect(await world.pay(header)).toMatchObject({ status: 200, body: granted.body })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })
})

describe('a challenge that is cancelled', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld({
      options: {
        routes: [{ routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' }],
        fetchResource: () => ({ status: 200, body: { sky: 'clear' } }),
      },
    })
  })
  afterAll(() => world.stop())

  test('cannot be paid any more, and its requestId opens a new one', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const books = await world.ledger(buyer)
    const body = { planId: 'basic', requestId: 'cancelled' }
    const required = await world.terms(body)
    const header = await world.sign(buyer, required.accepts[0]!)
    expect(await world.gateway.cancel(required.challengeId, 'operator')).toMatchObject({ state: 'CANCELLED' })
    expect(await world.gateway.cancel(required.challengeId, 'operator')).toMatchObject({ state: 'CANCELLED' })
    expect(await world.status(required.challengeId)).toMatchObject({ state: 'CANCELLED' })
    const refused = await world.pay(header, body)
    expect(refused).toMatchObject(GONE)
    expect(refused.body.message).toContain('cancelled')
    expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })

    const bought = await world.buy(buyer, body)
    expect(bought.status).toBe(200)
    expect(bought.body.challengeId).not.toBe(required.challengeId)
    expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
  })

  test('by its buyer, is in the log from its creation on', async () => {
    const { challengeId } = await world.terms({ planId: 'basic', requestId: 'changed-my-mind' })
    expect(await logOf(world, challengeId), 'open: nothing yet').toEqual([])
    expect(await world.gateway.cancel(challengeId, 'buyer')).toMatchObject({ state: 'CANCELLED' })
    expect(await logOf(world, challengeId)).toEqual(CANCELLED_BY_BUYER)
    const [created] = await world.gateway.backstage.store.audit(challengeId)
    const { expiresAt } = await world.status(challengeId)
    expect(created!.at, 'when it was opened').toBeLessThanOrEqual(new Date(expiresAt).getTime() - 899_000)
  })

  test('one that was only offered has no record, and is cancelled by its terms', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const required = await world.terms()
    const { challengeId } = required
    const accepted = required.accepts[0]!
    const { cancel } = world.gateway
    await expect(cancel(challengeId, 'buyer')).rejects.toMatchObject({
      code: 'CHALLENGE_NOT_FOUND',
      message: expect.stringContaining('accepted'),
    })
    // What is not what the id proves cancels nothing.
    const dearer = { accepted: { ...accepted, extra: { ...accepted.extra, requestId: 'another' } } }
    await expect(cancel(challengeId, 'buyer', dearer)).rejects.toMatchObject({ code: 'CHALLENGE_NOT_FOUND' })
    const another = (await world.terms()).challengeId
    await expect(cancel(another, 'buyer', { accepted })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    expect(await world.status(challengeId)).toMatchObject({ state: 'PENDING' })

    const answers = await Promise.all([1, 2].map(() => cancel(challengeId, 'buyer', { accepted })))
    for (const answer of answers) expect(answer).toMatchObject({ challengeId, state: 'CANCELLED' })
    expect(await logOf(world, challengeId)).toEqual(CANCELLED_BY_BUYER)
    expect(await world.status(challengeId)).toMatchObject({ state: 'CANCELLED' })
    expect(await world.pay(await world.sign(buyer, accepted))).toMatchObject(GONE)
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test('an offered call of a route needs the call as well, and is then 410 too', async () => {
    const resource = { method: 'GET', path: '/weather/paris' }
    const { challengeId, accepts } = await world.terms({ routeId: 'weather', resource })
    const accepted = accepts[0]!
    const { cancel } = world.gateway
    await expect(cancel(challengeId, 'buyer', { accepted })).rejects.toMatchObject({
      code: 'RESOURCE_REQUIRED',
    })
    const call = { ...resource, body: null }
    expect(await cancel(challengeId, 'buyer', { accepted, call })).toMatchObject({ state: 'CANCELLED' })
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const refused = await world.pay(await world.sign(buyer, accepted), { routeId: 'weather', resource })
    expect(refused).toMatchObject(GONE)
  })

  test('only an unpaid one can be: a delivered one stays delivered', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const { body } = await world.buy(buyer, { planId: 'basic', requestId: 'done' })
    await expect(world.gateway.cancel(body.challengeId!, 'operator')).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('DELIVERED'),
    })
    expect(await world.status(body.challengeId!)).toMatchObject({ state: 'DELIVERED' })
    await expect(world.gateway.cancel('http-unknown', 'operator')).rejects.toMatchObject({
      code: 'CHALLENGE_NOT_FOUND',
    })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })
})
