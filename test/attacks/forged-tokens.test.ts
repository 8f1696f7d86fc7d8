import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { decodeJwt, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startBackend, type TestBackend } from '../e2e/routes-world.ts'
import { PRICE, startWorld, TOKEN_SECRET, type World } from '../e2e/world.ts'

const encode = (text: string) => new TextEncoder().encode(text)

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const privatePem = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const publicPem = createPublicKey(privatePem).export({ type: 'spki', format: 'pem' }).toString()

describe.each(['HS256', 'RS256'] as const)('attack 30: a protected resource guarded by %s', (alg) => {
  let world: World
  let backend: TestBackend
  let url: string
  let token: string
  let claims: JWTPayload
  beforeAll(async () => {
    const options = alg === 'HS256' ? {} : { tokenSecret: undefined, tokenPrivateKey: privatePem }
    backend = await startBackend()
    world = await startWorld({ options: { ...options, proxyTo: { baseUrl: backend.url } } })
    url = `${world.baseUrl}/resource/default`
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    token = (await world.buy(buyer)).body.accessToken!
    claims = decodeJwt(token)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })
  afterEach(() => {
    expect(backend.seen.filter(({ headers }) => headers['x-svc-payer'] === undefined)).toEqual([])
  })
  afterAll(async () => {
    await world.stop()
    await backend.stop()
  })

  const call = async (authorization?: string) => {
    const response = await fetch(url, authorization === undefined ? {} : { headers: { authorization } })
    return { status: response.status, body: await response.json() }
  }
  const REFUSED = { status: 401, body: { type: 'Error', code: 'UNAUTHORIZED', httpStatus: 401 } }

  /** Signed with the real key, so that only the claims are wrong. */
  const signed = (payload: JWTPayload) =>
    new SignJWT(payload)
      .setProtectedHeader({ alg, ...(alg === 'RS256' && { kid: kidOf(token) }) })
      .sign(alg === 'HS256' ? encode(TOKEN_SECRET) : rsa.privateKey)

  test('attack 30: the token that was bought opens it, and so does the same one made by hand', async () => {
    expect(await call(`Bearer ${token}`)).toMatchObject({ status: 200 })
    expect(await call(`Bearer ${await signed(claims)}`)).toMatchObject({ status: 200 })
  })

  test('attack 30: alg none is refused', async () => {
    const none = new UnsecuredJWT(claims).encode()
    expect(await call(`Bearer ${none}`)).toMatchObject(REFUSED)
    const [, payload] = token.split('.')
    for (const name of ['none', 'None', 'NONE']) {
      const head = Buffer.from(JSON.stringify({ alg: name, typ: 'JWT' })).toString('base64url')
      expect(await call(`Bearer ${head}.${payload}.`)).toMatchObject(REFUSED)
    }
  })

  test('attack 30: a token of the other algorithm is refused, also with the public key as secret', async () => {
    for (const secret of [publicPem, publicPem.trim()]) {
      const confused = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', kid: kidOf(token) ?? 'k' })
        .sign(encode(secret))
      expect(await call(`Bearer ${confused}`)).toMatchObject(REFUSED)
    }
    const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const other = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: kidOf(token) ?? 'k' })
      .sign(foreign)
    expect(await call(`Bearer ${other}`)).toMatchObject(REFUSED)
  })

  test('attack 30: a token without exp, expired, or of another issuer or audience is refused', async () => {
    const { exp, ...endless } = claims
    expect(exp).toBeDefined()
    const wrong = [
      endless,
      { ...claims, exp: Math.floor(Date.now() / 1000) - 1 },
      { ...claims, iss: 'https://evil.example' },
      { ...claims, aud: 'https://evil.example/resource' },
      { ...claims, resourceId: 'another' },
    ]
    for (const payload of wrong) expect(await call(`Bearer ${await signed(payload)}`)).toMatchObject(REFUSED)
  })

  test('attack 30: no token, another scheme, a changed byte or a megabyte are refused', async () => {
    const [head, payload, signature] = token.split('.')
    const changed = Buffer.from(JSON.stringify({ ...claims, planId: 'pro' })).toString('base64url')
    const wrong = [
      undefined,
      token,
      `Basic ${token}`,
      'Bearer',
      'Bearer ',
      `Bearer ${head}.${changed}.${signature}`,
    ]
    for (const header of [...wrong, `Bearer ${head}.${payload}`, `Bearer ${'a'.repeat(10_000)}.b.c`]) {
      expect(await call(header), header?.slice(0, 40)).toMatchObject(REFUSED)
    }
  })
})

function kidOf(token: string): string | undefined {
  return JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).kid
}
