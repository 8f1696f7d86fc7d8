import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { callSignature, forwardedHeaders } from './payment-headers.ts'

/** Headers that a backend behind a proxy trusts. */
const proxied = {
  Forwarded: 'for=127.0.0.1',
  'x-forwarded-for': '127.0.0.1',
  'X-Forwarded-Host': 'evil.example',
  'x-forwarded-user': 'admin',
  x_forwarded_proto: 'https',
  'x-original-for': '127.0.0.1',
  'x-original-host': 'evil.example',
  'x-real-ip': '127.0.0.1',
  'x-client-ip': '127.0.0.1',
  'x-cluster-client-ip': '127.0.0.1',
  'true-client-ip': '127.0.0.1',
  'cf-connecting-ip': '127.0.0.1',
  'fastly-client-ip': '127.0.0.1',
  'x-azure-clientip': '127.0.0.1',
  'x-remote-user': 'admin',
  'x-host': 'evil.example',
}
/** Headers with which some backends run another call than the one that was paid. */
const changing = {
  'x-http-method': 'DELETE',
  'X-HTTP-Method-Override': 'DELETE',
  'x-original-uri': '/admin',
  'X-Original-Path': '/admin',
  'x-original-method': 'DELETE',
  x_original_url: '/admin',
  'x-rewrite-uri': '/admin',
  'x-rewrite-anything': '/admin',
}

test('headers of the call are passed on; ours, those of one connection, and those that change the call are not', () => {
  const passing = {
    accept: 'text/csv',
    authorization: 'Bearer of-the-backend',
    'content-type': 'application/json',
    cookie: 'a=1; b=2',
    'idempotency-key': 'k',
    'user-agent': 'agent/1',
    'x-own': '1',
  }
  const stripped = {
    Connection: 'keep-alive, X-Named',
    'X-Named': 'of this connection',
    'x-svc-payer': '0xevil',
    'X-Svc-Anything': 'x',
    x_svc_payer: '0xevil',
    'X_Svc-Tx_Hash': '0x0',
    'payment-signature': 'as good as money',
    'x-payment': 'the same, of x402 v1',
    host: 'evil.example',
    'content-length': '3',
    content_length: '3',
    'transfer-encoding': 'chunked',
    te: 'trailers',
    trailer: 'x',
    upgrade: 'h2c',
    expect: '100-continue',
    'keep-alive': 'timeout=5',
    'proxy-authorization': 'Basic x',
    'accept-encoding': 'br',
    'x-http-method-override': 'DELETE',
    'x-method-override': 'DELETE',
    'x-original-url': '/admin',
    'x-rewrite-url': '/admin',
    ...changing,
    ...proxied,
  }
  expect(forwardedHeaders({ ...stripped, ...passing })).toEqual(passing)
})

test.each([
  ['Authorization', 'Payment abc'],
  ['AUTHORIZATION', 'payment abc'],
  ['authorization', 'PAYMENT\tabc'],
  ['authorization', '  \u00a0Payment abc'],
  ['authorization', 'Payment'],
  ['authorization', 'Bearer of-the-seller, Payment abc'],
  ['authorization', 'Basic eA==,payment abc'],
  ['Payment-Authorization', 'Payment abc'],
  ['payment_authorization', 'anything'],
  ['Payment_Signature', 'anything'],
  ['SIGN-IN-WITH-X', 'anything'],
  ['Sign_In_With_X', 'anything'],
  ['X_PAYMENT', 'anything'],
])('a payment or sign-in is never passed on: %s: %s', (name, value) => {
  expect(forwardedHeaders({ [name]: value }, true)).toEqual({})
})

test.each(['Bearer payment', 'Basic cGF5bWVudA==', 'Digest realm="Orders, Payment desk", nonce="a"'])(
  'a token of the seller’s own is passed on: %s',
  (authorization) => {
    expect(forwardedHeaders({ authorization })).toEqual({ authorization })
  },
)

test('attack 40: the operator’s cookie is not passed on, other cookies are', () => {
  expect(forwardedHeaders({ Cookie: 'a=1; svc_admin=session; b=2' })).toEqual({ cookie: 'a=1; b=2' })
  expect(forwardedHeaders({ cookie: 'svc_admin=session' })).toEqual({})
})

test('headers of a trusted proxy about the client are passed on unchanged, those that change the call never', () => {
  const spelled = Object.fromEntries(
    Object.entries(proxied).map(([name, value]) => [name.toLowerCase(), value]),
  )
  expect(forwardedHeaders({ ...changing, ...proxied, 'x-svc-payer': '0xevil' }, true)).toEqual(spelled)
})

test('the signature is the HMAC of "t.method.path.challengeId.txHash"', () => {
  const call = { method: 'GET', path: '/weather/paris?u=c', challengeId: 'http-1', txHash: '0xab' }
  const signature = callSignature('secret', call, 1_700_000_000_999)
  const mac = createHmac('sha256', 'secret').update('1700000000.GET./weather/paris?u=c.http-1.0xab')
  expect(signature).toBe(`t=1700000000,v1=${mac.digest('hex')}`)
})

test('the code in docs/routes.md for backends in Node accepts our signature and no other', async () => {
  const page = readFileSync(new URL('../../docs/routes.md', import.meta.url), 'utf8')
  const code = /```js\n([\s\S]*?)```/.exec(page)![1]!
  const module = `data:text/javascript,${encodeURIComponent(`${code}\nexport { fromGateway }`)}`
  const { fromGateway } = (await import(/* @vite-ignore */ module)) as {
    fromGateway(request: object, secret: string): boolean
  }
  const call = { method: 'GET', path: '/weather/paris?u=c', challengeId: 'http-1', txHash: '0xab' }
  const request = (nowMs: number) => ({
    method: 'GET',
    url: call.path,
    headers: {
      'x-svc-challenge-id': 'http-1',
      'x-svc-tx-hash': '0xab',
      'x-svc-signature': callSignature('secret', call, nowMs),
    },
  })
  const now = request(Date.now())
  expect(fromGateway(now, 'secret')).toBe(true)
  expect(fromGateway(now, 'another')).toBe(false)
  expect(fromGateway({ ...now, url: '/weather/paris' }, 'secret')).toBe(false)
  expect(fromGateway({ ...now, headers: {} }, 'secret')).toBe(false)
  expect(fromGateway(request(Date.now() - 400_000), 'secret'), 'an old one').toBe(false)
})
