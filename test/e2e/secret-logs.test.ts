import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import { openDashboard } from '../../src/server/admin/open-dashboard.ts'
import { createObserver } from '../../src/server/observe/create-observer.ts'
import { CALL_PRICE, PROXY_SECRET, type RoutesWorld, startRoutesWorld } from './routes-world.ts'
import { eventually, PRICE, TOKEN_SECRET } from './world.ts'

const RPC_KEY = 'rpc-api-key-of-the-seller-0123456789'
const API_SECRET = 'the-token-api-secret'
const SECRET_KEY = '5e'.repeat(32)

describe('whatever happens, no secret is logged', () => {
  const lines: string[] = []
  const observer = createObserver({
    logLevel: 'trace',
    alertWebhookUrl: 'http://127.0.0.1:9/hooks/T0PSECRETWEBHOOKPATH',
    write: (line) => void lines.push(line),
  })
  const secrets = new Set([
    RPC_KEY,
    API_SECRET,
    SECRET_KEY,
    PROXY_SECRET,
    TOKEN_SECRET,
    'T0PSECRETWEBHOOKPATH',
  ])
  let routes: RoutesWorld
  // Answers whatever it was sent, as some do in their errors.
  const tokenApi = createServer((request, response) => {
    const body = JSON.stringify({ error: 'refused', sent: request.headers })
    response.writeHead(400, { 'content-type': 'application/json' }).end(body)
  })
  beforeAll(async () => {
    await new Promise<void>((listening) => tokenApi.listen(0, '127.0.0.1', listening))
    routes = await startRoutesWorld({
      store: 'embedded',
      instruments: observer.instruments,
      options: { secretKey: SECRET_KEY, refundMinAgeSeconds: 0 },
    })
    const { chain, seller } = routes.world
    for (const key of [chain.account(1).privateKey, seller.privateKey]) secrets.add(key).add(key.slice(2))
    await routes.world.restart({ rpcUrl: `${chain.rpcUrl}/?key=${RPC_KEY}` })
  })
  afterAll(async () => {
    await routes.stop()
    await new Promise((closed) => tokenApi.close(closed))
  })

  const remember = (header: string) => {
    const { payload } = decodeJsonObject(header) as { payload: { signature: string } }
    secrets.add(header).add(payload.signature).add(payload.signature.slice(2))
    return header
  }

  test('sales, replays, forgeries, refunds, bearers, failing token APIs and callbacks, an RPC that is away', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: 4n * PRICE + CALL_PRICE })
    const body = { planId: 'basic', requestId: 'logged-1' }

    const { accepts } = await world.terms(body)
    const header = remember(await world.sign(buyer, accepts[0]!))
    const sold = await world.pay(header, body)
    secrets.add(sold.body.accessToken!)
    expect(await world.pay(header, body)).toMatchObject({ status: 200 })
    await world.pay(remember(await world.sign(buyer, accepts[0]!, { value: '1' })), body)
    await world.pay(`${header.slice(0, -8)}AAAAAAAA`, body)
    const bearer = { authorization: `Bearer ${sold.body.accessToken}` }
    await fetch(`${world.baseUrl}/resource/default`, { headers: bearer })
    await fetch(`${world.baseUrl}/resource/default`, { headers: { authorization: 'Bearer stolen-token-1' } })
    secrets.add('stolen-token-1')

    backend.answer = (_call, response) => response.writeHead(500).end(`${PROXY_SECRET} ${TOKEN_SECRET}`)
    const call = await routes.signFor(buyer, '/weather/secret')
    await routes.call('/weather/secret', {}, remember(call.header))
    await world.until(call.required.challengeId, 'REFUNDED')

    const url = `http://127.0.0.1:${(tokenApi.address() as AddressInfo).port}/issue`
    await world.restart({
      rpcUrl: `${world.chain.rpcUrl}/?key=${RPC_KEY}`,
      tokenSecret: undefined,
      issueTokenApi: url,
      issueTokenApiSecret: API_SECRET,
    })
    const failed = await world.terms({ planId: 'basic' })
    expect((await world.pay(remember(await world.sign(buyer, failed.accepts[0]!)))).status).toBe(502)

    await world.restart({
      tokenSecret: undefined,
      fetchResourceCredentials: () => {
        const words = `Authorization: Bearer ${sold.body.accessToken}; ${world.seller.privateKey}; postgres://me:hunter22@db/x`
        throw new Error(`the licence server said no to ${words}`)
      },
    })
    secrets.add('hunter22')
    const refused = await world.terms({ planId: 'basic' })
    expect((await world.pay(remember(await world.sign(buyer, refused.accepts[0]!)))).status).toBe(502)

    // Nothing listens there: every look at the chain fails.
    await world.restart({ rpcUrl: `http://127.0.0.1:9/v2/${RPC_KEY}` })
    await world.pay(remember(await world.sign(buyer, refused.accepts[0]!)), { planId: 'basic' })
    await eventually(() => lines.some((line) => line.includes('chain-unreachable')))

    const dashboard = openDashboard({ gateway: world.gateway, observer })
    const page = async (path: string) =>
      (await dashboard.api(new Request(`${world.baseUrl}${path}`), path))!.text()
    const shown = [
      await page('/admin/api/overview'),
      await page('/admin/api/challenges'),
      await page('/admin/api/refunds'),
      await page('/admin/api/export'),
      await page(`/admin/api/challenges/${sold.body.challengeId}`),
      await observer.metrics(),
    ]
    dashboard.close()

    const events = lines.flatMap((line) => (JSON.parse(line).event ? [JSON.parse(line).event] : []))
    expect(events).toEqual(
      expect.arrayContaining(['paid', 'delivered', 'delivery-failed', 'refund-confirmed']),
    )
    const paid = lines.map((line) => JSON.parse(line)).find(({ event }) => event === 'paid')
    expect(paid).toMatchObject({ level: 'info', challengeId: sold.body.challengeId, requestId: 'logged-1' })
    expect(lines.join('')).toContain('[redacted]')
    for (const text of [...lines, ...shown]) {
      for (const secret of secrets) expect(text.includes(secret), `${secret} in ${text}`).toBe(false)
      expect(text).not.toMatch(/Bearer (?!\[redacted\])\S/)
      expect(text).not.toMatch(/0x[0-9a-f]{128}/i)
      expect(text).not.toMatch(/"(signature|authorization|payment-signature|accessToken)"/i)
    }
  })
})
