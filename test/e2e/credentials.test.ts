import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { GatewayOptions } from '../../src/config/options.ts'
import { PRICE, startWorld, TOKEN_SECRET, type World } from './world.ts'

let world: World | undefined
afterEach(() => world?.stop())

async function buyWith(
  options: Partial<GatewayOptions>,
  body: Record<string, unknown> = { planId: 'basic' },
) {
  world = await startWorld({ options: { tokenSecret: undefined, ...options } })
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const required = await world.terms(body)
  const header = await world.sign(buyer, required.accepts[0]!)
  const bought = await world.pay(header, body)
  return { world, buyer, header, bought, required }
}

test('RS256: anyone verifies the token with the published key, and its claims name the purchase', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const tokenPrivateKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const { world, buyer, bought } = await buyWith({ tokenPrivateKey, tokenTtlSeconds: 600 })
  expect(bought.status).toBe(200)
  const { accessToken, resourceEndpoint, challengeId, txHash, expiresAt } = bought.body
  const keys = createRemoteJWKSet(new URL(`${world.baseUrl}/.well-known/jwks.json`))
  const { payload, protectedHeader } = await jwtVerify(accessToken!, keys, {
    issuer: world.baseUrl,
    audience: resourceEndpoint!,
  })
  expect(protectedHeader.alg).toBe('RS256')
  const payer = buyer.address.toLowerCase()
  expect(payload).toMatchObject({ jti: challengeId, txHash, sub: payer, walletAddress: payer })
  expect(payload).toMatchObject({ planId: 'basic', resourceId: 'default' })
  expect(payload.exp! - payload.iat!).toBe(600)
  expect(new Date(expiresAt!).getTime()).toBe(payload.exp! * 1000)
  const published = await (await fetch(`${world.baseUrl}/.well-known/jwks.json`)).text()
  expect(Object.keys(JSON.parse(published).keys[0]), 'nothing private').not.toContain('d')
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
})

test('HS256: the shared secret verifies the token, and no key is published', async () => {
  const { world, buyer, bought, header } = await buyWith({ tokenSecret: TOKEN_SECRET })
  const { accessToken } = bought.body
  const { payload } = await jwtVerify(accessToken!, new TextEncoder().encode(TOKEN_SECRET))
  expect(payload.jti).toBe(bought.body.challengeId)
  expect((await fetch(`${world.baseUrl}/.well-known/jwks.json`)).status).toBe(404)
  const again = await world.pay(header)
  expect(decodeJwt(again.body.accessToken!), 'a replay has the same claims').toEqual(payload)
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
})

test('fetchResourceCredentials: the seller’s own credential of any kind is what the buyer gets, also later', async () => {
  const calls: unknown[][] = []
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const { world, buyer, bought, header, required } = await buyWith(
    {
      fetchResourceCredentials: (...args) => {
        calls.push(args)
        return { accessToken: 'api-key-42', expiresAt, resourceEndpoint: 'https://api.example.com/v1' }
      },
    },
    { planId: 'basic', resourceId: 'maps' },
  )
  expect(bought).toMatchObject({
    status: 200,
    body: {
      accessToken: 'api-key-42',
      tokenType: 'Bearer',
      expiresAt,
      resourceId: 'maps',
      resourceEndpoint: 'https://api.example.com/v1',
    },
  })
  const { txHash } = bought.body
  expect(calls).toEqual([
    ['basic', 'maps', buyer.address.toLowerCase(), { challengeId: required.challengeId, txHash }],
  ])
  expect((await world.pay(header)).body).toEqual(bought.body)
  expect(calls, 'a replay is served from the store').toHaveLength(1)
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
})

describe('ISSUE_TOKEN_API', () => {
  let api: Server
  let url: string
  let received: Array<{ headers: IncomingHttpHeaders; body: Record<string, unknown> }>
  let statuses: number[]
  beforeEach(async () => {
    received = []
    statuses = []
    api = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      received.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) })
      const status = statuses.shift() ?? 200
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ token: `issued-${received.length}`, tokenType: 'MAC' }))
    })
    await new Promise<void>((listening) => api.listen(0, '127.0.0.1', listening))
    url = `http://127.0.0.1:${(api.address() as AddressInfo).port}/issue`
  })
  afterEach(() => {
    api.closeAllConnections()
    api.close()
  })

  test('the seller’s token endpoint gets the payment, and its token is forwarded', async () => {
    const { world, buyer, bought, required } = await buyWith(
      { issueTokenApi: url, issueTokenApiSecret: 'between-us' },
      { planId: 'basic', requestId: 'api-1', clientAgentId: 'agent://buyer' },
    )
    expect(bought).toMatchObject({ status: 200, body: { accessToken: 'issued-1', tokenType: 'Bearer' } })
    expect(received).toMatchObject([
      {
        headers: { 'idempotency-key': required.challengeId, authorization: 'Bearer between-us' },
        body: {
          challengeId: required.challengeId,
          requestId: 'api-1',
          planId: 'basic',
          resourceId: 'default',
          walletAddress: buyer.address.toLowerCase(),
          txHash: bought.body.txHash,
          amount: String(PRICE),
          network: 'eip155:84532',
          plan: { planId: 'basic', unitAmount: '$1.00' },
          clientAgentId: 'agent://buyer',
        },
      },
    ])
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('an endpoint that fails once is asked again under the same key, and the buyer is served', async () => {
    statuses = [500]
    const { world, buyer, bought } = await buyWith({ issueTokenApi: url })
    expect(bought).toMatchObject({ status: 200, body: { accessToken: 'issued-2' } })
    expect(new Set(received.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('an endpoint that refuses starts a refund', async () => {
    statuses = [403]
    const { buyer, bought, world } = await buyWith({ issueTokenApi: url })
    expect(bought).toMatchObject({
      status: 502,
      body: { code: 'DELIVERY_FAILED', refund: { state: 'REFUND_PENDING' } },
    })
    expect(received).toHaveLength(1)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    expect(await world.sellerBalance()).toBe(PRICE)
  })
})
