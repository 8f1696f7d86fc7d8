import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PRICE, type Strategy, startWorld, type World } from './world.ts'

const REDEEMED = 'PROOF_ALREADY_REDEEMED'

// Both strategies at once: each waits most of its time. Within one, tests share a chain and go in turn.
describe.concurrent.each<Strategy>(['gas-wallet', 'facilitator'])('one purchase by %s', (strategy) => {
  let world: World
  beforeAll(async () => {
    world = await startWorld({ strategy, store: 'embedded' })
  })
  afterAll(() => world.stop())

  test.sequential('100 parallel requests for terms with one requestId share one challenge', async () => {
    const body = { planId: 'basic', requestId: 'many-terms' }
    const answers = await Promise.all(Array.from({ length: 100 }, () => world.terms(body)))
    expect(new Set(answers.map(({ challengeId }) => challengeId)).size).toBe(1)
    const salts = answers.map(({ accepts }) => accepts[0]!.extra.salt)
    expect(new Set(salts).size, 'every 402 has its own salt').toBe(100)
  })

  test.sequential('a requestId is bound to its plan and resource: anything else is refused before it is charged', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const required = await world.terms({ planId: 'basic', requestId: 'bound' })
    const header = await world.sign(buyer, required.accepts[0]!)
    for (const other of [{ planId: 'pro' }, { planId: 'basic', resourceId: 'another' }]) {
      const asked = await world.access({ ...other, requestId: 'bound' })
      expect(asked).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
      expect(asked.body.message).toContain('bound')
      const paid = await world.pay(header, { ...other, requestId: 'bound' })
      expect(paid).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    }
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test.sequential('the same payload again gets the same grant and is not charged', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const books = await world.ledger(buyer)
    const body = { planId: 'basic', requestId: 'again' }
    const required = await world.terms(body)
    const header = await world.sign(buyer, required.accepts[0]!)
    const first = await world.pay(header, body)
    const second = await world.pay(header, body)
    expect(first).toMatchObject({ status: 200, body: { type: 'AccessGrant' } })
    expect(first.headers.get('x-svc-code')).toBeNull()
    expect(second.headers.get('x-svc-code')).toBe(REDEEMED)
    expect(second.headers.get('cache-control')).toBe('no-store, private')
    expect({ ...second, headers: null }).toEqual({ ...first, headers: null })
    expect((await world.pay(header)).body, 'with an empty body').toEqual(first.body)

    const unpaid = await world.access(body)
    expect(unpaid).toMatchObject({ status: 402, body: { challengeId: required.challengeId } })
    expect(unpaid.body.error).toMatch(/is paid/)
    expect(JSON.stringify(unpaid.body)).not.toContain(first.body.accessToken)
    expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
  })

  test.sequential('100 parallel copies of one payload make one transfer and 100 identical grants', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const books = await world.ledger(buyer)
    const required = await world.terms()
    const header = await world.sign(buyer, required.accepts[0]!)
    const broadcasts = world.facilitator?.broadcasts.length ?? 0
    const answers = await Promise.all(Array.from({ length: 100 }, () => world.pay(header)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    if (world.facilitator) expect(world.facilitator.broadcasts.length).toBe(broadcasts + 1)
  })

  test.sequential('two authorizations racing on one challenge: one transfer, and both are answered with its grant', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const books = await world.ledger(buyer)
    const body = { planId: 'basic', requestId: 'race' }
    const headers = await Promise.all(
      Array.from({ length: 2 }, async () => world.sign(buyer, (await world.terms(body)).accepts[0]!)),
    )
    const answers = await Promise.all(headers.map((header) => world.pay(header, body)))
    expect(answers).toMatchObject([{ status: 200 }, { status: 200 }])
    expect(answers[0]!.body).toEqual(answers[1]!.body)
    expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
  })

  test.sequential('ten racing payers of one challenge: one pays and is served, nine are refused and keep their money', async () => {
    const required = await world.terms({ planId: 'basic', requestId: 'payers' })
    const buyers = await Promise.all(Array.from({ length: 10 }, () => world.chain.newBuyer({ micro: PRICE })))
    const books = await world.ledger(...buyers)
    const headers = await Promise.all(buyers.map((buyer) => world.sign(buyer, required.accepts[0]!)))
    const answers = await Promise.all(headers.map((header) => world.pay(header)))
    const winner = answers.findIndex(({ status }) => status === 200)
    const losers = answers.filter((_, index) => index !== winner)
    expect(losers.map(({ status, body }) => [status, body.code])).toEqual(
      losers.map(() => [400, 'INVALID_PROOF']),
    )
    expect(await books.changes()).toEqual({
      seller: PRICE,
      buyers: buyers.map((_, index) => (index === winner ? -PRICE : 0n)),
    })
  })

  test.sequential('a new authorization of the payer fetches a delivered grant and is never sent', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const books = await world.ledger(buyer)
    const body = { planId: 'basic', requestId: 'anew' }
    const bought = await world.buy(buyer, body)
    expect(bought.status).toBe(200)
    const fetched = await world.buy(buyer, body)
    expect(fetched).toMatchObject({ status: 200, body: bought.body, receipt: bought.receipt })
    expect(fetched.headers.get('x-svc-code')).toBe(REDEEMED)
    expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
  })

  test.sequential('30 concurrent buyers are each charged once and served', async () => {
    const buyers = await Promise.all(Array.from({ length: 30 }, () => world.chain.newBuyer({ micro: PRICE })))
    const books = await world.ledger(...buyers)
    const answers = await Promise.all(buyers.map((buyer) => world.buy(buyer)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body }) => body.accessToken)).size).toBe(30)
    expect(await books.changes()).toEqual({ seller: 30n * PRICE, buyers: buyers.map(() => -PRICE) })
  })
})
