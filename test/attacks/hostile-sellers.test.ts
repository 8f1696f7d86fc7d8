import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type BuyerOptions, createBuyer, fileStorage, memoryStorage } from '../../src/buyer/index.ts'
import { encodeJson } from '../../src/protocol/base64.ts'
import type { Authorization, DevAccount } from '../../src/testing/index.ts'
import { PRICE, startWorld, type World } from '../e2e/world.ts'
import { submitAlone } from './forge.ts'
import {
  endless,
  type HostileSeller,
  offer,
  redirect,
  startHostileSeller,
  type Visit,
} from './hostile-seller.ts'

const order = { planId: 'basic', requestId: 'r' }
const MIB = 1024 * 1024
const secrets = { authorization: 'Bearer mine', cookie: 'session=mine', 'x-api-key': 'mine' }
const receipt = encodeJson({ success: true, transaction: '0xab', network: 'eip155:84532' })

describe('attack 43: a seller that is out for more than its price', () => {
  let world: World
  let seller: HostileSeller
  let other: HostileSeller
  let account: DevAccount
  let folder: string
  /** How far the clocks of the chain and of the buyer were moved. */
  let movedMs = 0

  beforeAll(async () => {
    world = await startWorld({ store: 'memory' })
  })
  afterAll(() => world.stop())
  beforeEach(async () => {
    ;[seller, other] = await Promise.all([startHostileSeller(), startHostileSeller()])
    account = await world.chain.newBuyer({ micro: 10n * PRICE })
    folder = mkdtempSync(join(tmpdir(), 'paystile-hostile-'))
  })
  afterEach(() => {
    seller.stop()
    other.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const clock = {
    now: () => Date.now() + movedMs,
    sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
  }
  const buyer = (options: Partial<BuyerOptions> = {}) =>
    createBuyer({
      account: account.account,
      maxAmount: '$2.00',
      rpcUrls: { [world.chain.network]: world.chain.rpcUrl },
      clock,
      ...options,
    })
  const pass = async (seconds: number) => {
    movedMs += seconds * 1000
    await world.chain.increaseTime(seconds)
  }
  const asks = (amount = PRICE) => ({ asset: world.chain.usdc, payTo: world.seller.address, amount })
  const settle = async ({ payment }: Visit) => {
    const signed = payment!.payload as { authorization: Authorization; signature: `0x${string}` }
    await world.chain.client.waitForTransactionReceipt({ hash: await submitAlone(world, signed) })
  }
  const paidBy = async () => 10n * PRICE - (await world.chain.balanceOf(account.address))

  test('a redirect carries neither payment nor credentials to another host', async () => {
    seller.answer = (_visit, response) => redirect(response, 302, `${other.url}/pay`)
    other.answer = (_visit, response) => offer(response, asks())
    const lured = buyer().fetch(`${seller.url}/data`, { headers: secrets })
    await expect(lured).rejects.toMatchObject({
      code: 'REDIRECTED',
      message: expect.stringMatching(new RegExp(`${seller.host}.*${other.host}`)),
    })
    await expect(buyer().buy(seller.url, order)).rejects.toMatchObject({ code: 'REDIRECTED' })
    expect(other.visits).toEqual([])
    expect(seller.authorizations()).toEqual([])
  })

  test('a redirect of its catalog leads to no host that is not allowed', async () => {
    seller.answer = ({ path, payment }, response) => {
      if (path === '/discover') return redirect(response, 302, `${other.url}/internal`)
      if (payment) return void response.end('data')
      return offer(response, asks())
    }
    other.answer = (_visit, response) => void response.end('{"agentName":"other","plans":[],"routes":[]}')
    const { fetch, discover } = buyer({ credits: 'buy' })
    await expect(discover(seller.url)).rejects.toMatchObject({ code: 'REDIRECTED' })
    expect(await (await fetch(`${seller.url}/data`)).text()).toBe('data')
    expect(other.visits).toEqual([])
    const allowed = buyer({ allowedHosts: [seller.host, other.host] })
    expect((await allowed.discover(seller.url)).agentName).toBe('other')
  })

  test('a redirect of the paid request is not followed, within its origin neither', async () => {
    seller.answer = ({ payment, path }, response) =>
      payment
        ? redirect(response, 307, path === '/data' ? `${other.url}/take` : '/take')
        : offer(response, asks())
    for (const path of ['/data', '/home']) {
      expect((await buyer().fetch(seller.url + path, { headers: secrets })).status).toBe(307)
    }
    await expect(buyer().buy(seller.url, order)).rejects.toMatchObject({ code: 'REDIRECTED' })
    expect(other.visits).toEqual([])
    expect(seller.visits.map(({ path }) => path)).not.toContain('/take')
  })

  test('a host that the caller allowed is paid, but gets no credentials, and the payment goes there only', async () => {
    seller.answer = (_visit, response) => redirect(response, 307, `${other.url}/pay`)
    other.answer = ({ payment }, response) =>
      payment
        ? void response.writeHead(200, { 'payment-response': receipt }).end('data')
        : offer(response, asks())
    const { fetch } = buyer({ allowedHosts: [seller.host, other.host] })
    const answer = await fetch(`${seller.url}/data`, { method: 'POST', body: 'hello', headers: secrets })
    expect([answer.status, await answer.text(), other.visits.length]).toEqual([200, 'data', 2])
    for (const { headers } of other.visits) {
      expect(Object.keys(headers)).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/^(authorization|cookie|x-api-key)$/)]),
      )
    }
    expect(seller.authorizations()).toEqual([])
    expect(seller.visits[0]!.headers).toMatchObject(secrets)
  })

  test('410 after settling: no second authorization, not even when the first has expired', async () => {
    seller.answer = async (visit, response) => {
      if (!visit.payment) return offer(response, asks())
      if (seller.authorizations().length === 1 && (await paidBy()) === 0n) await settle(visit)
      response.writeHead(410, { 'x-svc-code': 'CHALLENGE_EXPIRED' }).end('{}')
    }
    const storage = fileStorage(folder)
    const first = await buyer({ storage })
      .buy(seller.url, order)
      .catch((error) => error)
    expect(first).toMatchObject({ code: 'PAYMENT_FAILED', requestId: 'r' })
    expect(first.retryAt.getTime()).toBeGreaterThan(clock.now())
    await expect(buyer({ storage }).buy(seller.url, order)).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
    await pass(200)
    await expect(buyer({ storage }).buy(seller.url, order)).rejects.toMatchObject({ code: 'ALREADY_USED' })
    await expect(buyer({ storage }).buy(seller.url, order)).rejects.toMatchObject({ code: 'ALREADY_USED' })
    expect(seller.authorizations()).toHaveLength(1)
    expect(await paidBy()).toBe(PRICE)
  })

  test('a quick 402 is not answered with a second authorization while the first can land, by plan or by call', async () => {
    seller.answer = (_visit, response) => offer(response, asks())
    const { buy, fetch } = buyer({ maxTotal: '$1.00' })
    for (let turn = 0; turn < 3; turn++) {
      await expect(buy(seller.url, order)).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
    }
    expect(seller.authorizations()).toHaveLength(1)
    const call = buyer()
    for (let turn = 0; turn < 3; turn++) {
      await expect(call.fetch(`${seller.url}/data`)).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
    }
    expect(seller.authorizations()).toHaveLength(2)
    await expect(fetch(`${seller.url}/data`)).rejects.toMatchObject({ code: 'OVER_TOTAL' })

    // The chain shows that it expired unused: one more is signed, within the same total.
    await pass(200)
    await expect(buy(seller.url, order)).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
    await expect(buy(seller.url, order)).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
    const taken = seller.authorizations()
    expect(taken).toHaveLength(3)
    const now = clock.now() / 1000
    const live = taken.filter(({ authorization }) => Number(authorization.validBefore) > now)
    expect(live).toHaveLength(1)
  })

  test('without the word of the chain nothing is signed again', async () => {
    seller.answer = (_visit, response) => offer(response, asks())
    const storage = memoryStorage()
    const wrong = await startHostileSeller()
    const deaf = { storage, rpcUrls: { [world.chain.network]: wrong.url } }
    await expect(buyer(deaf).buy(seller.url, order)).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
    await pass(200)
    await expect(buyer(deaf).buy(seller.url, order)).rejects.toMatchObject({
      code: 'PAYMENT_FAILED',
      message: expect.stringContaining('could not be asked'),
    })
    expect(seller.authorizations()).toHaveLength(1)
    wrong.stop()
  })

  test('a price that rises after a refused payment is not paid', async () => {
    let price = PRICE
    seller.answer = (_visit, response) => offer(response, asks(price))
    const storage = memoryStorage()
    await expect(buyer({ storage }).buy(seller.url, order)).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
    await pass(200)
    price = 2n * PRICE
    await expect(buyer({ storage }).buy(seller.url, order)).rejects.toMatchObject({
      code: 'OVER_LIMIT',
      message: expect.stringContaining('$1.00'),
    })
    expect(seller.authorizations()).toHaveLength(1)
  })

  test('all its offers together stay within maxTotal, over restarts too', async () => {
    seller.answer = async (visit, response) => {
      if (!visit.payment) return offer(response, asks())
      await settle(visit)
      response.writeHead(200, { 'payment-response': receipt }).end('data')
    }
    const outcomes = []
    for (let turn = 0; turn < 5; turn++) {
      const { fetch } = buyer({ storage: fileStorage(folder), maxTotal: '$3.00' })
      outcomes.push(
        await fetch(seller.url).then(
          ({ status }) => status,
          (error) => error.code,
        ),
      )
    }
    expect(outcomes).toEqual([200, 200, 200, 'OVER_TOTAL', 'OVER_TOTAL'])
    expect(await paidBy()).toBe(3n * PRICE)
  })

  test.each<[string, (visit: Visit, response: Parameters<HostileSeller['answer']>[1]) => unknown, object]>([
    ['a 402', (_visit, response) => endless(response, 402), { code: 'UNEXPECTED_ANSWER' }],
    [
      'a grant',
      ({ payment }, response) => (payment ? endless(response, 200) : offer(response, asks())),
      { code: 'UNEXPECTED_ANSWER' },
    ],
    [
      'a refusal',
      ({ payment }, response) => (payment ? endless(response, 402) : offer(response, asks())),
      { code: 'UNEXPECTED_ANSWER' },
    ],
    ['a fault', (_visit, response) => endless(response, 503), { code: 'UNEXPECTED_ANSWER' }],
  ])('%s without an end is not taken', async (_name, answer, error) => {
    seller.answer = answer as HostileSeller['answer']
    await expect(buyer().buy(seller.url, order)).rejects.toMatchObject(error)
    expect(seller.authorizations().length).toBeLessThanOrEqual(1)
    // What was under way in sockets when the buyer left is not in its memory.
    expect(seller.sent()).toBeLessThan(16 * MIB)
  })

  test('answers without an end to a call are not taken: offers and faults never, results up to the limit', async () => {
    const { fetch } = buyer({ maxResponseBytes: 2 * MIB, maxWaitSeconds: 1 })
    seller.answer = ({ payment, path }, response) => {
      if (path === '/offer') return endless(response, 402)
      if (!payment) return offer(response, asks())
      return endless(
        response,
        path === '/fault' ? 503 : 200,
        path === '/fault' ? {} : { 'payment-response': receipt },
      )
    }
    await expect(fetch(`${seller.url}/fault`)).rejects.toMatchObject({ code: 'STILL_PENDING' })
    const unreadable = await fetch(`${seller.url}/offer`)
    expect(unreadable.status).toBe(402)
    await expect(unreadable.text()).rejects.toMatchObject({ code: 'ANSWER_TOO_LARGE' })
    const result = await fetch(`${seller.url}/result`)
    await expect(result.text()).rejects.toMatchObject({ code: 'ANSWER_TOO_LARGE' })
    expect(seller.sent()).toBeLessThan(64 * MIB)
  })
})
