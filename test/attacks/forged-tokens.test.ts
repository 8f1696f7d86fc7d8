import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeJwt, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PRICE, startWorld, TOKEN_SECRET, type World } from '../e2e/world.ts'

const encode = (text: string) => new TextEncoder().encode(text)

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const privatePem = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const publicPem = createPublicKey(privatePem).export({ type: 'spki', format: 'pem' }).toString()

describe.each(['HS256', 'RS256'] as const)('attack 30: a protected resource guarded by %s', (alg) => {
  let world: World
  let resource: Server
  let url: string
  let token: string
  let claims: JWTPayload
  beforeAll(async () => {
    const options = alg === 'HS256' ? {} : { tokenSecret: undefined, tokenPrivateKey: privatePem }
    world = await startWorld({ options })
    resource = createServer(async (request, response) => {
      const verified = await world.gateway.verifyBearer(request.headers.authorization)
      response
        .writeHead(verified.ok ? 200 : 401)
        .end(JSON.stringify(verified.ok ? {} : verified.error.toBody()))
    })
    await new Promise<void>((listening) => resource.listen(0, '127.0.0.1', listening))
    url = `http://127.0.0.1:${(resource.address() as AddressInfo).port}`
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    token = (await world.buy(buyer)).body.accessToken!
    claims = decodeJwt(token)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })
  afterAll(async () => {
    await new Promise((closed) => resource.close(closed))
    await world.stop()
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
