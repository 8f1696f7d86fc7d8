import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Store } from '../../src/ports.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld } from './routes-world.ts'
import { eventually, PRICE } from './world.ts'

const DAYS = 3
const DAY_MS = 86_400_000

/** As if it had been paid long ago: the jobs then find it due. */
async function age(store: Store, challengeId: string): Promise<void> {
  await eventually(async () => {
    const [row] = await store.get('challenges', [challengeId])
    const paidAt = row!.paidAt! - (DAYS + 1) * DAY_MS
    const aged = { ...row!, paidAt, dueAt: paidAt + DAYS * DAY_MS }
    return (await store.commit({ puts: [{ table: 'challenges', row: aged }] })).kind === 'applied'
  })
  await eventually(async () => (await store.get('challenges', [challengeId]))[0]!.prunedAt)
}

describe('after the time for which results are kept', () => {
  const store = createMemoryStore()
  let routes: RoutesWorld
  beforeAll(async () => {
    routes = await startRoutesWorld({ options: { store, secretKey: 'ab'.repeat(32), retentionDays: DAYS } })
  })
  afterAll(() => routes.stop())

  test('a built-in token is signed again; nothing is charged, by the old payload or a new one', async () => {
    const { world } = routes
    const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
    const body = { planId: 'basic', requestId: 'old-plan' }
    const { accepts } = await world.terms(body)
    const header = await world.sign(buyer, accepts[0]!)
    const sold = await world.pay(header, body)
    await age(store, sold.body.challengeId!)
    expect((await store.get('challenges', [sold.body.challengeId!]))[0]).toMatchObject({
      state: 'DELIVERED',
      result: null,
    })
    const again = await world.pay(header, body)
    expect(again).toMatchObject({ status: 200, body: { type: 'AccessGrant', txHash: sold.body.txHash } })
    expect(again.body.expiresAt, 'it lives as long as it was sold for').toBe(sold.body.expiresAt)
    const anew = await world.sign(buyer, accepts[0]!)
    expect(await world.pay(anew, body)).toMatchObject({ status: 200, body: { txHash: sold.body.txHash } })
    expect((await world.access(body)).body.error, 'unpaid').toContain('This request is paid')
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('a call’s answer is gone: 409 with the reason, no second charge and no second call', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: 2n * CALL_PRICE })
    const { header, required } = await routes.signFor(buyer, '/weather/lima')
    expect((await routes.call('/weather/lima', {}, header)).status).toBe(200)
    await age(store, required.challengeId)
    const calls = backend.seen.length
    const gone = {
      status: 409,
      body: { code: 'TX_ALREADY_REDEEMED', message: expect.stringContaining('no longer kept') },
    }
    expect(await routes.call('/weather/lima', {}, header)).toMatchObject(gone)
    const anew = await world.sign(buyer, required.accepts[0]!)
    expect(await routes.call('/weather/lima', {}, anew), 'a new authorization').toMatchObject(gone)
    expect(backend.seen).toHaveLength(calls)
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
    expect(await world.status(required.challengeId)).toMatchObject({ state: 'DELIVERED' })
  })

  test('a seller’s own credential is not asked for again', async () => {
    const { world } = routes
    let issued = 0
    await world.restart({
      tokenSecret: undefined,
      fetchResourceCredentials: () => {
        issued += 1
        return 'an-api-key'
      },
    })
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const { accepts } = await world.terms()
    const header = await world.sign(buyer, accepts[0]!)
    const sold = await world.pay(header)
    expect(sold.body.accessToken).toBe('an-api-key')
    await age(store, sold.body.challengeId!)
    expect(await world.pay(header)).toMatchObject({ status: 409, body: { code: 'TX_ALREADY_REDEEMED' } })
    expect(issued).toBe(1)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })
})
