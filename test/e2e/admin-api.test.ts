import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { boot } from '../../src/server/boot.ts'
import type { Observer } from '../../src/server/observe/create-observer.ts'
import { paymentHeader, signAuthorization, startDevChain } from '../../src/testing/index.ts'
import { type AskDashboard, type Json, startDashboard } from './dashboard-world.ts'
import { CALL_PRICE, type RoutesWorld } from './routes-world.ts'
import { eventually, freePort, PRICE, TOKEN_SECRET } from './world.ts'

describe('the operator’s API', () => {
  let routes: RoutesWorld
  let observer: Observer
  let ask: AskDashboard
  beforeAll(async () => {
    const dashboard = await startDashboard({ store: 'embedded', options: { refundMinAgeSeconds: 1 } })
    ;({ routes, observer, ask } = dashboard)
  })
  afterAll(() => routes.stop())

  test('a sale, a failed call and an open challenge show in figures, list, detail and export', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: PRICE + CALL_PRICE })
    const bought = await world.buy(buyer, {
      planId: 'basic',
      requestId: 'sale-1',
      clientAgentId: '=cmd|evil',
    })
    expect(bought.status).toBe(200)
    expect((await world.access({ planId: 'pro', requestId: 'open-1' })).status).toBe(402)
    backend.answer = (_call, response) => response.writeHead(500).end()
    const { header, required } = await routes.signFor(buyer, '/weather/oslo')
    expect((await routes.call('/weather/oslo', {}, header)).body.resource).toMatchObject({ status: 500 })

    const refunds = await ask('/refunds')
    expect(refunds.body.items).toMatchObject([
      { challengeId: required.challengeId, kind: 'route', itemId: 'weather', micro: '10000', attempts: 0 },
    ])
    await world.until(required.challengeId, 'REFUNDED')

    const { body } = await ask('/overview?range=24h')
    expect(body).toMatchObject({
      range: '24h',
      network: 'eip155:84532',
      testnet: true,
      funnel: { challenges: 3, paid: 2, delivered: 1, refunded: 1 },
      refunds: { waiting: 0, failed: 0 },
      revenue: {
        micro: '1000000',
        usd: '$1.00',
        perItem: [{ kind: 'plan', id: 'basic', sold: 1, micro: '1000000', usd: '$1.00' }],
      },
      latencyMs: { samples: 2 },
      wallets: [
        { role: 'receives', usdcMicro: String(PRICE), level: 'ok' },
        { role: 'gas', ethWei: expect.stringMatching(/^\d{20,}$/), daysLeft: null, level: 'ok' },
        { role: 'refund', usdcMicro: String(PRICE), level: 'ok' },
      ],
    })
    const series = body.series as Array<Json>
    expect(series).toHaveLength(24)
    expect(series.reduce((total, point) => total + Number(point.paid), 0)).toBe(2)
    expect(body.reading).toBeUndefined()
    for (const range of ['7d', '30d', 'all']) {
      expect((await ask(`/overview?range=${range}`)).body.funnel, range).toEqual(body.funnel)
    }

    const list = await ask('/challenges')
    expect(list.body).toMatchObject({ total: 3, next: null })
    const ids = (list.body.items as Array<Json>).map(({ requestId }) => requestId)
    expect(ids, 'newest first').toEqual([expect.stringMatching(/^req-/), 'open-1', 'sale-1'])
    const first = await ask('/challenges?limit=2')
    const rest = await ask(`/challenges?limit=2&before=${first.body.next}`)
    expect([...(first.body.items as Json[]), ...(rest.body.items as Json[])]).toEqual(list.body.items)
    expect(rest.body.next).toBeNull()
    for (const q of ['SALE-1', bought.body.txHash, 'cmd|evil', bought.body.challengeId]) {
      const found = await ask(`/challenges?q=${encodeURIComponent(String(q))}`)
      expect(found.body.items, String(q)).toMatchObject([
        { requestId: 'sale-1', state: 'DELIVERED', usd: '$1.00', payer: buyer.address.toLowerCase() },
      ])
    }
    expect((await ask('/challenges?state=REFUNDED&kind=route')).body).toMatchObject({ total: 1 })
    expect((await ask('/challenges?state=LOST')).body.error).toContain('PENDING')

    const detail = await ask(`/challenges/${bought.body.challengeId}`)
    const events = (detail.body.timeline as Array<Json>).map(({ event }) => event)
    expect(events).toEqual(['payment-claimed', 'paid', 'delivered'])
    expect(detail.body).toMatchObject({
      challenge: { requestId: 'sale-1', failure: null, resource: null },
      receipts: [{ role: 'pays', micro: '1000000', txHash: bought.body.txHash }],
      refunds: [],
      explorer: { tx: expect.stringContaining(String(bought.body.txHash)) },
    })
    expect(JSON.stringify(detail.body), 'no token').not.toContain(bought.body.accessToken!)
    expect(JSON.stringify(detail.body)).not.toMatch(/signature|saltHash|result/i)
    expect((await ask('/challenges/http-none')).status).toBe(404)

    const csv = await fetch(`${world.baseUrl}/admin/api/export?format=csv`)
    expect(csv.headers.get('content-disposition')).toMatch(/^attachment; filename="paystile-testnet-/)
    const [head, ...sold] = (await csv.text()).trimEnd().split('\r\n')
    expect(head).toMatch(
      /^paidAt,challengeId,.*,testnet,token,txUrls,refundTxUrls,creditsGranted,creditsSpent,maximumMicro$/,
    )
    expect(sold).toHaveLength(2)
    expect(sold[0]).toContain(",'=cmd|evil,")
    expect(sold.every((line) => line.includes(',true,USDC,https://'))).toBe(true)
    const jsonl = await fetch(`${world.baseUrl}/admin/api/export?format=jsonl`)
    const parsed = (await jsonl.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(parsed).toMatchObject([
      {
        requestId: 'sale-1',
        receivedMicro: '1000000',
        receivedUsd: '1.00',
        refundedMicro: '0',
        testnet: true,
      },
      {
        kind: 'route',
        state: 'REFUNDED',
        refundedMicro: '10000',
        refundTxHashes: expect.stringMatching(/^0x/),
      },
    ])
    const none = await fetch(`${world.baseUrl}/admin/api/export?format=jsonl&from=2100-01-01T00:00:00Z`)
    expect(await none.text()).toBe('')
    for (const from of ['yesterday', '01.02.2026', '2026-02-01T00:00'])
      expect((await ask(`/export?from=${from}`)).status, from).toBe(400)
    expect((await ask('/export?from=2030-02-01&to=2030-01-31')).status).toBe(400)

    const metrics = await observer.metrics()
    expect(metrics).toContain(
      'svc_payments_total{transport="http",mode="subscription",outcome="delivered"} 1',
    )
    expect(metrics).toContain(
      'svc_payments_total{transport="http",mode="pay-per-call",outcome="undelivered"} 1',
    )
    expect(metrics).toContain('svc_refunds_total{outcome="confirmed"} 1')
    expect(metrics).toContain('svc_challenges{state="DELIVERED"} 1')
    expect(metrics).toContain('svc_challenges{state="REFUNDED"} 1')
    expect(metrics).toContain('svc_challenges{state="PENDING"} 1')
    // Every 402 is counted in one figure; the recorded offers of the dashboard are those of the other.
    const offers = [...metrics.matchAll(/^svc_payments_total\{.*outcome="challenge"\} (\d+)$/gm)]
    const recorded = [...metrics.matchAll(/^svc_challenges\{.*\} (\d+)$/gm)]
    const sum = (found: RegExpExecArray[]) => found.reduce((total, [, count]) => total + Number(count), 0)
    expect(sum(offers)).toBe(3)
    expect(sum(recorded)).toBe((body.funnel as Json).challenges)
    expect(metrics).toContain('svc_settlement_duration_seconds_count 2')
    const gas = world.chain.account(1).address.toLowerCase()
    expect(metrics).toMatch(new RegExp(`svc_gas_wallet_balance_eth{address="${gas}"} 9999\\.\\d+`))
  })

  test('cancelling answers the status, and 409 where nothing can be cancelled', async () => {
    const { accepts } = await routes.world.terms({ planId: 'basic', requestId: 'to-cancel' })
    const id = String(accepts[0]!.extra.challengeId)
    expect(await ask(`/challenges/${id}/cancel`, {})).toMatchObject({
      status: 200,
      body: { state: 'CANCELLED' },
    })
    const sold = (await ask('/challenges?q=sale-1')).body.items as Array<Json>
    expect(await ask(`/challenges/${sold[0]!.challengeId}/cancel`, {})).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('DELIVERED') },
    })
    expect((await ask('/challenges/http-none/cancel', {})).status).toBe(404)
    expect((await ask('/challenges/http-none/retry-refund', {})).status).toBe(404)
    expect(await ask(`/challenges/${id}/retry-refund`, {})).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('no refund of it has failed') },
    })
  })

  test('an open dashboard gets a sale without polling, and the stream ends when it closes', async () => {
    const { world } = routes
    const gone = new AbortController()
    const stream = await fetch(`${world.baseUrl}/admin/api/events`, { signal: gone.signal })
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    const told = (async () => {
      while (!text.includes('event: change')) text += (await reader.read()).value ?? ''
    })()
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const { body } = await world.buy(buyer)
    await told
    await eventually(async () => {
      if (text.includes(body.challengeId!)) return true
      text += (await reader.read()).value ?? ''
      return false
    })
    gone.abort()

    const second = await fetch(`${world.baseUrl}/admin/api/events`)
    const ended = second.text()
    await world.restart()
    expect(await ended).toContain(': connected')
    expect((await ask('/overview?range=all')).body.funnel, 'read again from the store').toMatchObject({
      delivered: 2,
      refunded: 1,
    })
  })

  test('alerts are shown until the operator clears them', async () => {
    observer.onAlert('chain-unreachable', 'rpc.example does not answer')
    observer.onAlert('chain-unreachable', 'rpc.example does not answer')
    expect((await ask('/overview')).body.alerts).toMatchObject([
      { kind: 'chain-unreachable', message: 'rpc.example does not answer', count: 2 },
    ])
    expect((await ask('/alerts/clear', {})).status).toBe(200)
    expect((await ask('/overview')).body.alerts).toEqual([])
  })
})

test('on the standalone server: for the operator only, below its base path, with the sale in it', async () => {
  const chain = await startDevChain()
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-admin-'))
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}/pay`
  const ADMIN_TOKEN = 'an-admin-token-of-the-operator'
  const server = await boot(
    {
      ...{ PORT: String(port), BASE_URL: baseUrl, DATA_DIR: dataDir, ADMIN_TOKEN, LOG_LEVEL: 'silent' },
      ...{ SVC_MANAGED_INFRA: 'none', RPC_URL: chain.rpcUrl, POLL_INTERVAL_MS: '25', TOKEN_SECRET },
      SVC_WALLET_ADDRESS: chain.account(0).address,
      GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
      PLANS: JSON.stringify([{ planId: 'basic', unitAmount: '$1.00' }]),
      RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
    },
    { print: () => undefined },
  )
  try {
    const buyer = await chain.newBuyer({ micro: PRICE })
    const access = (headers: Record<string, string> = {}) =>
      fetch(`${baseUrl}/x402/access`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ planId: 'basic', requestId: 'standalone' }),
      })
    const header = (await access()).headers.get('payment-required') ?? ''
    const accepted = (decodeJsonObject(header) as unknown as PaymentRequired).accepts[0]!
    const signed = await signAuthorization({ account: buyer.account, requirements: accepted })
    expect((await access({ 'payment-signature': paymentHeader({ accepted, ...signed }) })).status).toBe(200)

    const api = `${baseUrl}/admin/api`
    expect((await fetch(`${api}/overview`)).status).toBe(401)
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    const overview = await fetch(`${api}/overview`, { headers })
    expect(overview.headers.get('access-control-allow-origin')).toBeNull()
    expect(overview.headers.get('cache-control')).toBe('no-store')
    expect(await overview.json()).toMatchObject({
      funnel: { paid: 1, delivered: 1 },
      revenue: { usd: '$1.00' },
    })
    expect(await (await fetch(`${api}/export?format=csv`, { headers })).text()).toContain(',standalone,')
    expect((await fetch(`${api}/nothing`, { headers })).status).toBe(404)
    // A dashboard that stays open does not keep the server from closing.
    await fetch(`${api}/events`, { headers })
  } finally {
    await server.close()
    await chain.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
})
