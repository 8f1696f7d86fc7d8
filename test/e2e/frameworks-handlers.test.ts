import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { EMBEDDED } from './frameworks-apps.ts'
import { sellersAnswer } from './frameworks-buyer.ts'
import { heldBytes } from './frameworks-memory.ts'
import { CENT, DOWNLOAD_BYTES, type Seller } from './frameworks-seller.ts'
import { STANDALONE } from './frameworks-standalone.ts'
import { type SellerWorld, startSellerWorld } from './frameworks-world.ts'
import { eventually, type World } from './world.ts'

const MIB = 1024 * 1024

// None of this depends on where the gateway is mounted.
describe.each([...EMBEDDED, STANDALONE])('the seller’s handlers with $name', ({ prepare, embedded }) => {
  let world: World
  let seller: Seller
  let calls: SellerWorld['calls']
  beforeAll(async () => {
    ;({ world, seller, calls } = await startSellerWorld(prepare))
  })
  afterAll(() => world.stop())
  beforeEach(() => seller.startOver())

  const newBuyer = () => world.chain.newBuyer({ micro: 10n * CENT })

  /** Pays for a call and is gone before its handler, which is still at it, has an answer. */
  async function leaveEarly(buyer: DevAccount): Promise<{ challengeId: string }> {
    const { challengeId, send } = await calls.prepare(buyer, '/sell/slow')
    const leave = new AbortController()
    const lost = send({ signal: leave.signal }).catch(() => 'left')
    await eventually(() => seller.count(challengeId) === 1)
    leave.abort()
    expect(await lost).toBe('left')
    // The server must have noticed; it says so to nobody.
    await new Promise((turn) => setTimeout(turn, 50))
    return { challengeId }
  }

  test('of many copies of one paid call sent at once, one runs the handler', async () => {
    const buyer = await newBuyer()
    const { challengeId, send } = await calls.prepare(buyer, '/sell/weather/oslo')
    const statuses = (await Promise.all(Array.from({ length: 5 }, () => send()))).map(({ status }) => status)
    expect(statuses.sort()).toEqual(embedded ? [200, 409, 409, 409, 409] : [200, 200, 200, 200, 200])
    expect(seller.count(challengeId)).toBe(1)
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })

  test.each(['answers-500', 'throws'] as const)(
    'a handler that %s keeps the money reachable: the same payment runs it again for nothing',
    async (mood) => {
      const buyer = await newBuyer()
      const { challengeId, send } = await calls.prepare(buyer, '/sell/moody')
      seller.mood = mood
      expect((await sellersAnswer(await send())).status).toBe(500)
      expect(await world.status(challengeId)).toMatchObject({ state: 'PAID' })
      expect((await sellersAnswer(await send())).status).toBe(500)
      seller.mood = 'good'
      const mended = await send()
      expect(mended.headers.get('payment-response')).toBeTruthy()
      expect(await sellersAnswer(mended)).toMatchObject({ status: 200, body: { mood: 'good' } })
      expect((await send()).status).toBe(embedded ? 409 : 200)
      expect(seller.count(challengeId)).toBe(3)
      expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
    },
  )

  test('a client that leaves before the answer has had it as well, once the handler is good', async () => {
    const buyer = await newBuyer()
    const { challengeId } = await leaveEarly(buyer)
    seller.gate.open()
    await world.until(challengeId, 'DELIVERED')
    expect(seller.count(challengeId)).toBe(1)
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })

  test('calls whose handler failed, watched or not, are refunded once and can no longer be had', async () => {
    const [buyer, absent] = [await newBuyer(), await newBuyer()]
    const books = await world.ledger(buyer, absent)
    const left = await leaveEarly(absent)
    seller.mood = 'throws'
    seller.gate.open()
    const { challengeId, send } = await calls.prepare(buyer, '/sell/moody')
    expect((await sellersAnswer(await send())).status).toBe(500)
    expect(await books.changes()).toEqual({ seller: 2n * CENT, buyers: [-CENT, -CENT] })
    await Promise.all([world.until(challengeId, 'REFUNDED'), world.until(left.challengeId, 'REFUNDED')])
    seller.mood = 'good'
    const late = await send()
    expect(late.status).toBe(410)
    expect(await late.json()).toMatchObject({ code: 'CHALLENGE_REFUNDED' })
    expect([seller.count(challengeId), seller.count(left.challengeId)]).toEqual([1, 1])
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [CENT] })
    expect(await world.flows(absent)).toEqual({ paid: [CENT], refunded: [CENT] })
    expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n, 0n] })
  })

  test('a client that leaves while its payment settles does not stop the call', async () => {
    const buyer = await newBuyer()
    const { challengeId, send } = await calls.prepare(buyer, '/sell/weather/rome')
    await world.chain.setAutomine(false)
    const leave = new AbortController()
    const lost = send({ signal: leave.signal }).catch(() => 'left')
    await eventually(async () => (await world.chain.client.getTxpoolStatus()).pending > 0)
    leave.abort()
    expect(await lost).toBe('left')
    await world.chain.setAutomine(true)
    await world.until(challengeId, 'DELIVERED')
    expect(seller.count(challengeId)).toBe(1)
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })

  // The standalone gateway caps and stores answers, and takes nothing but 2xx for a delivery.
  if (!embedded) return

  test('50 MiB stream through without being held, and count as delivered while they still flow', async () => {
    const buyer = await newBuyer()
    const { challengeId, send } = await calls.prepare(buyer, '/sell/download')
    const before = heldBytes()
    const response = await send()
    expect(response.status).toBe(200)
    expect(response.headers.get('payment-response')).toBeTruthy()
    const reader = response.body!.getReader()
    await reader.read()
    // The reader pauses: whatever is not held back now would be held in memory.
    await eventually(async () => (await world.status(challengeId)).state === 'DELIVERED')
    expect(seller.producedBytes, 'nobody buffers').toBeLessThan(DOWNLOAD_BYTES / 2)
    let received = 0
    let looks = 0
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      received += read.value.byteLength
      expect(seller.producedBytes - received).toBeLessThan(DOWNLOAD_BYTES / 2)
      if (received > looks * 12 * MIB) {
        looks++
        expect(heldBytes() - before, `after ${received} bytes`).toBeLessThan(DOWNLOAD_BYTES / 2)
      }
    }
    expect(seller.producedBytes).toBe(DOWNLOAD_BYTES)
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })

  test('a 404 of the handler is no delivery, and says so, unless the route says otherwise', async () => {
    const buyer = await newBuyer()
    seller.mood = 'answers-404'
    const usual = await calls.prepare(buyer, '/sell/moody')
    const failed = await usual.send()
    expect([failed.status, await failed.json()]).toEqual([404, { mood: 'answers-404' }])
    expect(decodeJsonObject(failed.headers.get('payment-response') ?? '')).toMatchObject({ success: true })
    expect(failed.headers.get('x-svc-code')).toBe('DELIVERY_FAILED')
    expect(failed.headers.get('x-svc-refund')).toBe('SCHEDULED')
    expect(Date.parse(failed.headers.get('x-svc-refund-when') ?? '')).toBeGreaterThan(Date.now() - 60_000)
    const statusUrl = failed.headers.get('x-svc-status-url') ?? ''
    expect(await (await fetch(statusUrl)).json()).toMatchObject({ state: 'PAID' })

    const lenient = await calls.prepare(buyer, '/sell/lenient')
    const answer = await lenient.send()
    expect([answer.status, answer.headers.get('x-svc-refund')]).toEqual([404, null])
    await eventually(async () => (await world.status(lenient.challengeId)).state === 'DELIVERED')
    expect((await lenient.send()).status).toBe(409)
    seller.mood = 'good'
    await world.until(usual.challengeId, 'REFUNDED')
    expect(await world.flows(buyer)).toEqual({ paid: [CENT, CENT], refunded: [CENT] })
  })

  test('a client that leaves in the middle of the answer has had it', async () => {
    const buyer = await newBuyer()
    const { challengeId, send } = await calls.prepare(buyer, '/sell/download')
    const leave = new AbortController()
    const response = await send({ signal: leave.signal })
    await response.body!.getReader().read()
    leave.abort()
    await world.until(challengeId, 'DELIVERED')
    expect(seller.producedBytes).toBeLessThan(DOWNLOAD_BYTES)
    expect((await send()).status).toBe(409)
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })
})
