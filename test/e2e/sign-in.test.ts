import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithSIWx } from '@x402/extensions'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SignInOffer } from '../../src/dialects/siwx/write-offer.ts'
import type { Store } from '../../src/ports.ts'
import { post, toolCall } from './mcp-clients.ts'
import { startBackend, type TestBackend } from './routes-world.ts'
import { offeredIn, proofHeader } from './sign-in-client.ts'
import { answerOf, eventually, PRICE, startWorld, type World } from './world.ts'

type Fetch = typeof fetch

describe('a wallet that bought a plan', () => {
  let world: World
  let backend: TestBackend
  let store: Store
  beforeAll(async () => {
    backend = await startBackend()
    world = await startWorld({
      store: 'embedded',
      options: { proxyTo: { baseUrl: backend.url }, mcp: true },
      instruments: {
        store(opened) {
          store = opened
          return opened
        },
      },
    })
  })
  afterAll(async () => {
    await world.stop()
    await backend.stop()
  })

  const ask = (fetchAs: Fetch, body: object = { planId: 'basic' }) =>
    fetchAs(`${world.baseUrl}/x402/access`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then(answerOf)

  test('enters again with wrapFetchWithSIWx: the same token, and nothing is charged', async () => {
    const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
    const bought = await world.buy(buyer)
    expect(bought.status).toBe(200)
    const again = await ask(wrapFetchWithSIWx(fetch, buyer.account))
    expect(again).toMatchObject({ status: 200, body: bought.body, receipt: bought.receipt })
    expect(again.headers.get('x-svc-code')).toBe('PROOF_ALREADY_REDEEMED')
    expect(again.headers.get('cache-control')).toBe('no-store, private')
    expect(await world.chain.balanceOf(buyer.address)).toBe(PRICE)
    const other = await ask(wrapFetchWithSIWx(fetch, buyer.account), { planId: 'pro' })
    expect(other.status, 'another plan').toBe(402)
    const elsewhere = { planId: 'basic', resourceId: 'elsewhere' }
    expect((await ask(wrapFetchWithSIWx(fetch, buyer.account), elsewhere)).status).toBe(402)
  })

  test('with the payment wrapper around it pays once, and then enters for nothing', async () => {
    const buyer = await world.chain.newBuyer({ micro: 3n * PRICE })
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(buyer.account))
    const enter = wrapFetchWithPayment(wrapFetchWithSIWx(fetch, buyer.account) as Fetch, client) as Fetch
    const first = await ask(enter)
    expect([first.status, await world.chain.balanceOf(buyer.address)]).toEqual([200, 2n * PRICE])
    const second = await ask(enter)
    expect([second.status, await world.chain.balanceOf(buyer.address)]).toEqual([200, 2n * PRICE])
    expect(second.body.accessToken).toBe(first.body.accessToken)
  })

  test('whose wallet has code signs in on the chain of its purchase', async () => {
    const owner = await world.chain.newBuyer({ micro: 0n })
    const wallet = await world.chain.deployWallet1271(owner.address)
    await world.chain.mint(wallet.address, PRICE)
    const required = await world.terms()
    const bought = await world.pay(await world.sign(owner, required.accepts[0]!, { from: wallet.address }))
    expect(bought).toMatchObject({ status: 200 })
    const signer = { address: wallet.address, signMessage: owner.account.signMessage }
    expect(await ask(wrapFetchWithSIWx(fetch, signer as never))).toMatchObject({
      status: 200,
      body: bought.body,
    })
    await wallet.setMode('refuses')
    expect((await ask(wrapFetchWithSIWx(fetch, signer as never))).status).toBe(401)
  })

  test('calls the guarded resource without the token, once per proof', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    await world.buy(buyer)
    const url = `${world.baseUrl}/resource/default`
    const refused = await answerOf(await fetch(url))
    expect(refused.status).toBe(401)
    const offered = offeredIn(refused.body)
    expect(offered.info.uri).toBe(url)
    const proof = await proofHeader(offered, buyer)
    const headers = { 'sign-in-with-x': proof }
    const seen = backend.seen.length
    expect((await fetch(`${url}?q=1`, { headers })).status).toBe(200)
    expect(backend.seen).toHaveLength(seen + 1)
    expect(backend.seen.at(-1)!.headers).not.toHaveProperty('sign-in-with-x')
    expect(backend.seen.at(-1)!.headers['x-svc-payer']).toBe(buyer.address.toLowerCase())
    expect((await fetch(url, { headers })).status, 'replayed').toBe(401)
    const elsewhere = await proofHeader(offeredIn((await answerOf(await fetch(url))).body), buyer)
    const other = await fetch(`${world.baseUrl}/resource/other`, { headers: { 'sign-in-with-x': elsewhere } })
    expect([other.status, backend.seen.length]).toEqual([401, seen + 1])
  })

  test('fetches its token over MCP', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const { body } = await world.buy(buyer)
    const call = async (meta?: object) => {
      const answer = await post(world.baseUrl, toolCall('request_access', { planId: 'basic' }, meta))
      return (
        (await answer.json()) as {
          result: { _meta: Record<string, SignInOffer>; content: [{ text: string }] }
        }
      ).result
    }
    const { _meta } = await call()
    const proof = await proofHeader(_meta['sign-in-with-x']!, buyer)
    const again = await call({ 'sign-in-with-x': proof })
    expect(JSON.parse(again.content[0].text)).toMatchObject({ ...body, status: 'access_granted' })
    expect(JSON.parse((await call({ 'sign-in-with-x': proof })).content[0].text)).toMatchObject({
      code: 'UNAUTHORIZED',
    })
  })

  test('of before this version is found after a restart', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const { body } = await world.buy(buyer)
    // As an earlier version left the store: without lots, and without a word of how far they were indexed.
    const [lot] = await store.get('lots', [body.challengeId!])
    const [mark] = await store.get('marks', ['lots-indexed'])
    const removes = [
      { table: 'lots' as const, key: lot!.key, version: lot!.version },
      ...(mark ? [{ table: 'marks' as const, key: mark.key, version: mark.version }] : []),
    ]
    expect(await store.commit({ puts: [], removes })).toEqual({ kind: 'applied' })
    expect((await ask(wrapFetchWithSIWx(fetch, buyer.account))).status).toBe(402)
    await world.restart()
    const again = await eventually(async () => {
      const answer = await ask(wrapFetchWithSIWx(fetch, buyer.account))
      return answer.status === 200 && answer
    })
    expect(again.body.accessToken).toBe(body.accessToken)
  })
})
