import { wrapAxiosWithPaymentFromConfig } from '@x402/axios'
import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import axios from 'axios'
import { Receipt } from 'mppx'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { AccessGrant, ResourceResponse } from '../../src/protocol/access.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { mppBuyer, post, unwrap } from './mpp-buyer.ts'
import { CALL_PRICE, ROUTES, type RoutesWorld, signatureIsGood, startRoutesWorld } from './routes-world.ts'
import { PRICE } from './world.ts'

const RAW = { routeId: 'map', method: 'GET', path: '/map/:city', unitAmount: '$0.01', raw: true } as const
const CREDENTIAL_HEADERS = ['payment-authorization', 'payment-signature', 'sign-in-with-x', 'x-payment']

let routes: RoutesWorld
let access: string
beforeAll(async () => {
  routes = await startRoutesWorld({ options: { routes: [...ROUTES, RAW], refundMinAgeSeconds: 60 } })
  access = `${routes.world.baseUrl}/x402/access`
})
afterAll(() => routes.stop())
beforeEach(() => {
  routes.backend.seen.length = 0
})

const newBuyer = (micro = 5n * PRICE) => routes.world.chain.newBuyer({ micro })
const receiptOf = (response: Response) => Receipt.deserialize(response.headers.get('payment-receipt')!)

function official(buyer: DevAccount): x402Client {
  return new x402Client().register('eip155:*', new ExactEvmScheme(buyer.account))
}

/** The backend was told of the payment, and given nothing to pay with. */
function backendSawNoCredential(): void {
  for (const { headers } of routes.backend.seen) {
    for (const name of CREDENTIAL_HEADERS) expect(headers).not.toHaveProperty(name)
    expect(headers.authorization ?? '').not.toMatch(/payment/i)
  }
}

describe('unmodified mppx', () => {
  test('buys a plan with one signature, and its receipt names the transaction', async () => {
    const buyer = await newBuyer()
    const mppx = mppBuyer(buyer.account)
    const response = await mppx.fetch(access, post({ planId: 'basic', resourceId: 'r1' }))
    expect(response.status).toBe(200)
    const grant = (await response.json()) as AccessGrant
    expect(grant).toMatchObject({ type: 'AccessGrant', planId: 'basic', resourceId: 'r1' })
    expect(mppx.sent.at(-1)!.get('authorization')).toMatch(/^Payment /)
    expect(mppx.sent.at(-1)!.has('payment-signature')).toBe(false)
    expect(mppx.signed.times).toBe(1)
    const receipt = receiptOf(response)
    expect(receipt).toMatchObject({ method: 'evm', reference: grant.txHash, status: 'success' })
    expect(Math.abs(Date.parse(receipt.timestamp) - Date.now())).toBeLessThan(120_000)
    expect(response.headers.get('access-control-expose-headers')).toContain('Payment-Receipt')
    expect(await routes.world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('the very same credential again, also many times at once, moves money once and gives the same result', async () => {
    const buyer = await newBuyer()
    const credential = await mppBuyer(buyer.account).credential(access, post({ planId: 'basic' }))
    const send = () => fetch(access, post({ planId: 'basic' }, { authorization: credential }))
    const together = await Promise.all([send(), send(), send()])
    const later = await send()
    const grants = await Promise.all([...together, later].map((response) => response.json()))
    expect(new Set(grants.map((grant) => JSON.stringify(grant))).size).toBe(1)
    expect([...together, later].map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(later.headers.get('x-svc-code')).toBe('PROOF_ALREADY_REDEEMED')
    expect(receiptOf(later)).toEqual(receiptOf(together[0]!))
    expect(await routes.world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('calls a proxied route; a replay gives the stored answer, and no credential reaches the backend', async () => {
    const buyer = await newBuyer()
    const mppx = mppBuyer(buyer.account)
    const url = `${routes.world.baseUrl}/weather/paris?units=c`
    const response = await mppx.fetch(url)
    const bought = (await response.json()) as ResourceResponse
    expect(bought.resource).toMatchObject({ status: 200, body: { url: '/weather/paris?units=c' } })
    expect(receiptOf(response).reference).toBe(bought.txHash)
    const again = await fetch(url, { headers: { authorization: mppx.sent.at(-1)!.get('authorization')! } })
    expect([again.status, again.headers.get('x-svc-code')]).toEqual([200, 'PROOF_ALREADY_REDEEMED'])
    expect(await again.json()).toEqual(bought)
    expect(routes.backend.seen).toHaveLength(1)
    expect(signatureIsGood(routes.backend.seen[0]!)).toBe(true)
    backendSawNoCredential()
    expect(await routes.world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })

  test('a request with a bearer token keeps it, and pays by Payment-Authorization', async () => {
    const buyer = await newBuyer()
    const mppx = mppBuyer(buyer.account)
    const headers = { authorization: 'Bearer of-the-seller', 'sign-in-with-x': 'proof' }
    const response = await mppx.fetch(`${routes.world.baseUrl}/weather/rome`, { headers })
    expect([response.status, receiptOf(response).status]).toEqual([200, 'success'])
    expect(mppx.sent.at(-1)!.get('authorization')).toBe('Bearer of-the-seller')
    expect(mppx.sent.at(-1)!.get('payment-authorization')).toMatch(/^Payment /)
    expect(routes.backend.seen[0]!.headers.authorization).toBe('Bearer of-the-seller')
    backendSawNoCredential()
    expect(await routes.world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })

  test('a raw route answers as its backend does, with the receipt beside it', async () => {
    const buyer = await newBuyer()
    const response = await mppBuyer(buyer.account).fetch(`${routes.world.baseUrl}/map/oslo`)
    expect(await response.json()).toEqual({ url: '/map/oslo', sky: 'clear' })
    expect(receiptOf(response).reference).toBe(response.headers.get('x-svc-tx-hash'))
    backendSawNoCredential()
  })

  test('an answer that is no delivery has no receipt; the same credential calls again for nothing', async () => {
    const { backend, world } = routes
    const buyer = await newBuyer()
    const url = `${world.baseUrl}/map/lima`
    const authorization = await mppBuyer(buyer.account).credential(url)
    const good = backend.answer
    backend.answer = (_call, response) => void response.writeHead(500).end('{}')
    const failed = await fetch(url, { headers: { authorization } })
    expect([failed.status, failed.headers.get('payment-receipt')]).toEqual([500, null])
    backend.answer = good
    const mended = await fetch(url, { headers: { authorization } })
    expect([mended.status, receiptOf(mended).status]).toEqual([200, 'success'])
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })

  test('without the money: a definite failure is a 402 with a fresh challenge, and nothing moves', async () => {
    const buyer = await newBuyer(0n)
    const credential = await mppBuyer(buyer.account).credential(access, post({ planId: 'basic' }))
    const refused = await fetch(access, post({ planId: 'basic' }, { authorization: credential }))
    expect(refused.status).toBe(402)
    expect(refused.headers.get('content-type')).toBe('application/problem+json')
    expect(refused.headers.get('payment-receipt')).toBeNull()
    const challenge = refused.headers.get('www-authenticate')!
    const { id } = unwrap(credential).challenge
    expect(challenge).toContain(`id="${id!.split('.')[0]}.`)
    expect(challenge).not.toContain(id)
    expect(await refused.json()).toMatchObject({
      type: 'https://paymentauth.org/problems/verification-failed',
      status: 402,
      code: 'PAYMENT_FAILED',
    })
    const mppx = mppBuyer(buyer.account)
    expect((await mppx.fetch(access, post({ planId: 'basic' }))).status).toBe(402)
    expect(await routes.world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })
})

describe('the very same 402', () => {
  test.each<[string, RequestInit, bigint]>([
    ['/x402/access', post({ planId: 'basic' }), PRICE],
    ['/weather/madrid', {}, CALL_PRICE],
  ])('%s is paid by mppx, @x402/fetch and @x402/axios', async (path, init, price) => {
    const url = routes.world.baseUrl + path
    const buyers = [await newBuyer(), await newBuyer(), await newBuyer()] as const
    const [byMpp, byFetch, byAxios] = buyers
    const answers = [
      await mppBuyer(byMpp.account).fetch(url, init),
      await wrapFetchWithPayment(fetch, official(byFetch))(url, init),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(answers.map(({ headers }) => headers.has('payment-receipt'))).toEqual([true, false])
    expect(answers.every(({ headers }) => headers.has('payment-response'))).toBe(true)
    const client = wrapAxiosWithPaymentFromConfig(axios.create(), {
      schemes: [{ network: 'eip155:*', client: new ExactEvmScheme(byAxios.account) }],
    })
    const { status } = await client.request({
      url,
      method: init.method ?? 'GET',
      ...(init.body !== undefined && { data: init.body, headers: init.headers as Record<string, string> }),
    })
    expect(status).toBe(200)
    for (const buyer of buyers)
      expect(await routes.world.flows(buyer)).toEqual({ paid: [price], refunded: [] })
  })

  test.each<[string, boolean]>([
    ['evm/charge', true],
    ['tempo/charge, evm/*;q=0.1', true],
    ['tempo/charge', false],
    ['*/*, evm/charge;q=0', false],
  ])('Accept-Payment: %s', async (accepted, offered) => {
    const init = post({ planId: 'basic' }, { 'accept-payment': accepted })
    const { headers } = await fetch(access, init)
    expect(headers.get('www-authenticate')?.includes('method="evm"') ?? false).toBe(offered)
    expect(headers.get('payment-required')).toBeTruthy()
  })

  test('pages of any origin may ask, pay and read the receipt', async () => {
    for (const path of ['/x402/access', '/weather/paris']) {
      const { status, headers } = await fetch(routes.world.baseUrl + path, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://page.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,payment-authorization,accept-payment',
        },
      })
      expect([status, headers.get('access-control-allow-origin')]).toEqual([204, '*'])
      const allowed = headers.get('access-control-allow-headers')!.toLowerCase().split(', ')
      expect(allowed).toEqual(
        expect.arrayContaining([
          'authorization',
          'payment-authorization',
          'accept-payment',
          'sign-in-with-x',
        ]),
      )
    }
    const { headers } = await fetch(access, post({ planId: 'basic' }))
    const exposed = headers.get('access-control-expose-headers')!.toLowerCase().split(', ')
    expect(exposed).toEqual(expect.arrayContaining(['www-authenticate', 'payment-receipt']))
  })
})

describe('credentials stay with the gateway', () => {
  const line = (name: string, value: string) => `${name}: ${value}\r\n`
  const SPELLINGS = [
    line('Authorization', 'Payment secret-credential'),
    line('AUTHORIZATION', 'pAyMeNt\tsecret-credential'),
    line('authorization', '  \t Payment   secret-credential'),
    line('Authorization', 'Bearer x') + line('Authorization', 'Payment secret-credential'),
    line('Authorization', 'Basic eA==, payment secret-credential'),
    line('Payment-Authorization', 'Payment secret-credential'),
    line('payment_authorization', 'secret-credential'),
    line('Sign-In-With-X', 'secret-credential') + line('sign_in_with_x', 'secret-credential'),
    line('X_Payment', 'secret-credential') + line('X-PAYMENT', 'secret-credential'),
  ]

  test('of a free route, however they are spelled', async () => {
    const { backend } = routes
    for (const spelled of SPELLINGS) {
      const text = await routes.raw(
        `GET /cities HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Own: 1\r\n${spelled}\r\n`,
      )
      expect(text, spelled).toMatch(/^HTTP\/1\.1 200 /)
    }
    expect(backend.seen).toHaveLength(SPELLINGS.length)
    for (const { headers } of backend.seen) {
      expect(headers['x-own']).toBe('1')
      expect(JSON.stringify(headers)).not.toContain('secret-credential')
    }
  })

  test('of the resource that a plan opened', async () => {
    const { world, backend } = routes
    const buyer = await newBuyer()
    const bought = await mppBuyer(buyer.account).fetch(access, post({ planId: 'basic' }))
    const { accessToken, resourceEndpoint } = (await bought.json()) as AccessGrant
    const opened = await fetch(resourceEndpoint.replace(/^https?:\/\/[^/]+/, world.baseUrl), {
      headers: {
        authorization: `Bearer ${accessToken}`,
        'payment-authorization': 'Payment secret-credential',
        'sign-in-with-x': 'secret-credential',
      },
    })
    expect(opened.status).toBe(200)
    expect(JSON.stringify(backend.seen.at(-1)!.headers)).not.toContain('secret-credential')
  })
})

describe('clients of x402 version 1', () => {
  const v1 = Buffer.from(
    JSON.stringify({
      x402Version: 1,
      scheme: 'exact',
      network: 'base-sepolia',
      payload: {
        signature: `0x${'11'.repeat(65)}`,
        authorization: {
          from: `0x${'22'.repeat(20)}`,
          to: `0x${'33'.repeat(20)}`,
          value: '1000000',
          validAfter: '0',
          validBefore: '1900000000',
          nonce: `0x${'44'.repeat(32)}`,
        },
      },
    }),
  ).toString('base64')

  test.each<[string, RequestInit]>([
    ['/x402/access', post({ planId: 'basic' }, { 'X-PAYMENT': v1 })],
    ['/weather/paris', { headers: { 'X-PAYMENT': v1 } }],
    ['/report', post({}, { 'X-PAYMENT': v1 })],
  ])('are told at %s what to use', async (path, init) => {
    const response = await fetch(routes.world.baseUrl + path, init)
    expect(response.status).toBe(400)
    const body = (await response.json()) as { message: string; hint: string }
    expect(body).toMatchObject({ type: 'Error', code: 'INVALID_REQUEST', httpStatus: 400 })
    expect(body.message).toMatch(/x402 version 1.*version 2.*payment-signature/)
    expect(body.hint).toContain('@x402/fetch')
    expect(JSON.stringify(body)).not.toContain(v1.slice(0, 20))
  })
})
