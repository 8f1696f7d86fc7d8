import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type CrashSite, startCrashSite } from './credits-close-site.ts'
import { ROUTES, type RoutesWorld, startRoutesWorld, sunny } from './routes-world.ts'
import { eventually, PRICE } from './world.ts'

const routes = ROUTES.map((route) => ('free' in route ? route : { ...route, credits: 1 }))
const plans = [{ planId: 'basic', unitAmount: '$1.00', credits: 50 }]

let shop: RoutesWorld
beforeAll(async () => {
  shop = await startRoutesWorld({ store: 'embedded', options: { routes, plans } })
})
afterAll(() => shop.stop())
beforeEach(() => {
  shop.backend.seen.length = 0
  shop.backend.answer = sunny
})

async function buyCredits() {
  const buyer = await shop.world.chain.newBuyer({ micro: PRICE })
  const { status, body } = await shop.world.buy(buyer)
  expect(status).toBe(200)
  return { buyer, id: body.challengeId!, token: `Bearer ${body.accessToken}` }
}

const call = (authorization: string) => shop.call('/weather/paris', { headers: { authorization } })
const spend = (token: string, calls: number) =>
  Promise.all(Array.from({ length: calls }, () => call(token).then(({ status }) => status)))

/** An idle chain makes no blocks, and a refund waits for the payment to be final. */
const refunded = (id: string) =>
  eventually(async () => {
    await shop.world.chain.mine(1)
    const closed = await shop.world.gateway.closeCredits(id)
    return closed.refund?.phase === 'DONE' && closed
  })

test('of 50 credits 20 are spent; the buyer has exactly 60% back, once, and the sale stays delivered', async () => {
  const { buyer, id, token } = await buyCredits()
  expect(new Set(await spend(token, 20))).toEqual(new Set([200]))
  const all = await Promise.all([1, 2, 3].map(() => shop.world.gateway.closeCredits(id)))
  expect(all).toMatchObject(all.map(() => ({ status: 'closed', spent: 20, refund: { value: '600000' } })))
  expect(await call(token)).toMatchObject({ status: 401 })
  await refunded(id)
  await shop.world.restart()
  await refunded(id)
  expect(await shop.world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [600_000n] })
  expect(await shop.world.chain.balanceOf(buyer.address)).toBe(600_000n)
  expect(await shop.world.status(id)).toMatchObject({ state: 'DELIVERED' })
  expect(shop.backend.seen.length).toBe(20)
})

test('calls in flight end first, and what they cost is not refunded', async () => {
  const { buyer, id, token } = await buyCredits()
  const held: Array<() => void> = []
  shop.backend.answer = (seen, response) => void held.push(() => sunny(seen, response))
  const answers = [call(token), call(token), call(token)]
  await eventually(() => held.length === 3)
  expect(await shop.world.gateway.closeCredits(id)).toMatchObject({ status: 'closing', reserved: 3 })
  expect(await call(token)).toMatchObject({ status: 401 })
  for (const answer of held) answer()
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200])
  expect(await refunded(id)).toMatchObject({ spent: 3, refund: { value: '940000' } })
  expect(await shop.world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [940_000n] })
})

test('killed while a call is under way, the next process closes it, for one refund', async () => {
  const backend = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(backend, 'listening')
  let called = 0
  backend.on('request', () => void called++)
  const proxyTo = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`
  const { chain, seller } = shop.world
  const site: CrashSite = await startCrashSite({ chain, seller, proxyTo })
  try {
    const buyer = await chain.newBuyer({ micro: PRICE })
    const { challengeId, accessToken } = await site.buy(buyer)
    const hanging = site.call(accessToken).catch(() => undefined)
    await eventually(() => called === 1)
    expect(await site.close(challengeId)).toMatchObject({ status: 'closing', reserved: 1 })
    await site.kill()
    await hanging
    await site.start()
    const closed = await eventually(async () => {
      await chain.mine(1)
      const told = await site.close(challengeId)
      return told.refund?.phase === 'DONE' && told
    })
    expect(closed).toMatchObject({ status: 'closed', spent: 0, refund: { value: '1000000' } })
    await site.kill()
    await site.start()
    await site.close(challengeId)
    expect(await shop.world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [PRICE] })

    const listed = await site.paystile('credits', 'list')
    expect(listed.output).toContain(`${challengeId}  `)
    expect(listed.output).toContain('50 credits sold: 0 spent, 0 outstanding, 0 expired, 50 refunded, 0 lost')
    expect((await site.paystile('credits', 'show', challengeId)).output).toContain('$1.00 goes back: DONE')
    expect((await site.paystile('credits', 'close', challengeId)).output).toContain(
      'is closed, by the server',
    )
    expect(await site.paystile('credits', 'close', 'http-unknown')).toMatchObject({ code: 1, output: '' })
    const exported = await site.paystile('export', '--of', 'credits', '--json')
    expect(JSON.parse(exported.output)).toMatchObject([
      { challengeId, status: 'closed', granted: 50, spent: 0, closed: 50, refundedUsd: '1.00' },
    ])
  } finally {
    await site.stop()
    backend.closeAllConnections()
    backend.close()
  }
}, 240_000)
