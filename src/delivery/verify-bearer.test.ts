import { createHmac, generateKeyPairSync } from 'node:crypto'
import { type JWTPayload, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { planOrder } from '../../test/delivery/sample-orders.ts'
import { createJwtDelivery } from './issue-jwt.ts'
import { rsaKeys, sharedSecretKeys, type TokenKeys } from './token-keys.ts'
import { createVerifyBearer } from './verify-bearer.ts'

const paidAtMs = 1_750_000_000_000
const order = { ...planOrder, paidAt: paidAtMs }
const issuer = 'https://gate.example'
const resourceEndpoint = `${issuer}/resource/{resourceId}`
const secret = 's'.repeat(32)
const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
const privatePem = pair.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
const publicPem = pair.publicKey.export({ format: 'pem', type: 'spki' }) as string
const hs = sharedSecretKeys(secret)
const rs = rsaKeys(privatePem)
const rsKid = rs.alg === 'RS256' ? rs.keys[0].kid : ''

const verifier = (keys: TokenKeys, nowMs = paidAtMs + 1000) =>
  createVerifyBearer({ keys, issuer, resourceEndpoint, now: () => nowMs })

async function tokenBy(keys: TokenKeys): Promise<string> {
  const delivery = createJwtDelivery({
    keys,
    issuer,
    tokenTtlSeconds: 3600,
    plans: [],
    places: { resourceEndpoint, explorerTxUrl: () => 'https://x/' },
  })
  return (await delivery.open(order, '')).accessToken
}

const claims = {
  iss: issuer,
  sub: order.payer,
  walletAddress: order.payer,
  aud: `${issuer}/resource/weather`,
  jti: 'http-abc',
  planId: 'pro',
  resourceId: 'weather',
  txHash: order.txHash,
  iat: paidAtMs / 1000,
  exp: paidAtMs / 1000 + 3600,
}
const signHs = (payload: JWTPayload, key = secret) =>
  new SignJWT(payload).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(key))

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

async function expectRefused(token: string, keys: TokenKeys, message?: string, nowMs?: number) {
  const verified = await verifier(keys, nowMs)(`Bearer ${token}`)
  if (verified.ok) throw new Error('the token was accepted')
  expect(verified.error).toMatchObject({ code: 'UNAUTHORIZED', httpStatus: 401 })
  expect(verified.error.message).not.toContain(token)
  if (message) expect(verified.error.message).toContain(message)
}

describe('verifyBearer', () => {
  test('a misspelt option is its caller’s mistake, whatever the token: ignored, it would open the guard', async () => {
    const token = await signHs(claims)
    for (const header of [`Bearer ${token}`, null]) {
      const misspelt = { resourceID: 'zzz' } as object
      await expect(verifier(hs)(header, misspelt)).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        message: 'verifyBearer: resourceID is not an option; did you mean "resourceId"?',
      })
    }
    const none = { planId: undefined, planID: undefined } as object
    expect(await verifier(hs)(`Bearer ${token}`, none)).toMatchObject({ ok: true })
  })

  test.each([
    ['HS256', hs],
    ['RS256', rs],
  ])('a %s token of ours is accepted, by header and by Request', async (_alg, keys) => {
    const token = await tokenBy(keys)
    const verify = verifier(keys)
    expect(await verify(`Bearer ${token}`, { resourceId: 'weather', planId: 'pro' })).toEqual({
      ok: true,
      claims,
    })
    const request = new Request('https://gate.example/x', { headers: { authorization: `bearer ${token}` } })
    expect(await verify(request)).toEqual({ ok: true, claims })
  })

  test.each([
    undefined,
    null,
    '',
    'Bearer',
    'Basic abc',
    'Bearer a b',
    'Bearer abc',
    `Bearer ${'a'.repeat(9000)}.b.c`,
  ])('no usable header (%.20j) is 401', async (header) => {
    expect(await verifier(hs)(header)).toMatchObject({ ok: false, error: { code: 'UNAUTHORIZED' } })
  })

  test('a missing token and a malformed one have different messages', async () => {
    const said = async (header: string | null) => {
      const verified = await verifier(hs)(header)
      return verified.ok ? '' : verified.error.message
    }
    expect(await said(null)).toMatch(/^No bearer token/)
    for (const header of ['Bearer x', 'Bearer', 'Basic abc', 'x'])
      expect(await said(header), header).toMatch(/^The Authorization header holds no token of this kind/)
  })

  test('a token for another resource or plan is refused', async () => {
    const header = `Bearer ${await tokenBy(hs)}`
    expect(await verifier(hs)(header, { resourceId: 'maps' })).toMatchObject({ ok: false })
    expect(await verifier(hs)(header, { planId: 'basic' })).toMatchObject({ ok: false })
  })

  test('resources are distinguished even if the template has no {resourceId}', async () => {
    const single = createVerifyBearer({
      keys: hs,
      issuer,
      resourceEndpoint: 'https://api.example/',
      now: () => paidAtMs,
    })
    const header = `Bearer ${await signHs({ ...claims, aud: 'https://api.example/' })}`
    expect(await single(header, { resourceId: 'weather' })).toMatchObject({ ok: true })
    expect(await single(header, { resourceId: 'maps' })).toMatchObject({ ok: false })
  })

  test('a token is valid until its last second and not after', async () => {
    const token = await tokenBy(hs)
    expect(await verifier(hs, paidAtMs + 3_599_000)(`Bearer ${token}`)).toMatchObject({ ok: true })
    await expectRefused(token, hs, 'expired at 2025-06-15T16:06:40.000Z', paidAtMs + 3_600_000)
  })

  test('attack 30: alg none is refused, in any spelling', async () => {
    for (const alg of ['none', 'None', 'NONE', 'nOnE', '']) {
      await expectRefused(`${part({ alg })}.${part(claims)}.`, hs)
      await expectRefused(`${part({ alg, kid: rsKid })}.${part(claims)}.`, rs)
    }
  })

  test('attack 30: an HS256 token signed with the public RSA key is refused', async () => {
    for (const key of [
      publicPem,
      publicPem.trim(),
      JSON.stringify(pair.publicKey.export({ format: 'jwk' })),
    ]) {
      const body = `${part({ alg: 'HS256', kid: rsKid })}.${part(claims)}`
      await expectRefused(`${body}.${createHmac('sha256', key).update(body).digest('base64url')}`, rs)
    }
  })

  test('attack 30: an RS256 token is refused where HS256 is configured, and other variants of both', async () => {
    await expectRefused(await tokenBy(rs), hs)
    await expectRefused(await tokenBy(hs), rs)
    const hs512 = new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS512' })
      .sign(new TextEncoder().encode('s'.repeat(64)))
    await expectRefused(await hs512, sharedSecretKeys('s'.repeat(64)))
    const ps256 = new SignJWT(claims).setProtectedHeader({ alg: 'PS256', kid: rsKid }).sign(pair.privateKey)
    await expectRefused(await ps256, rs)
  })

  test('attack 30: a key inside the token is not used', async () => {
    const theirs = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const jwk = theirs.publicKey.export({ format: 'jwk' }) as { kty: string }
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: rsKid, jwk })
      .sign(theirs.privateKey)
    await expectRefused(token, rs)
  })

  test.each(['exp', 'iss', 'aud', 'sub', 'jti', 'iat', 'planId', 'resourceId', 'txHash', 'walletAddress'])(
    'attack 30: a token without %s is refused, rightly signed or not',
    async (claim) => {
      const { [claim as 'exp']: _without, ...rest } = claims
      await expectRefused(await signHs(rest), hs)
    },
  )

  test.each([
    [{ exp: '9999999999' }],
    [{ exp: 1e300 }],
    [{ iss: 'https://evil.example' }],
    [{ aud: 'https://evil.example' }],
    [{ aud: [claims.aud, 'https://other'] }],
    [{ nbf: paidAtMs / 1000 + 600 }],
    [{ resourceId: 'maps' }],
  ])('a rightly signed token with %j is refused', async (change) => {
    await expectRefused(await signHs({ ...claims, ...change } as JWTPayload), hs)
  })

  test('another secret, an unknown kid and a changed payload are refused', async () => {
    await expectRefused(await signHs(claims, 't'.repeat(32)), hs)
    const stranger = new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'other' })
      .sign(pair.privateKey)
    await expectRefused(await stranger, rs)
    const [head, , signature] = (await tokenBy(hs)).split('.')
    await expectRefused(`${head}.${part({ ...claims, planId: 'gold' })}.${signature}`, hs)
  })

  test('while keys rotate, tokens of the old key are still accepted', async () => {
    const next = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
      format: 'pem',
      type: 'pkcs8',
    })
    expect(await verifier(rsaKeys(`${next}${publicPem}`))(`Bearer ${await tokenBy(rs)}`)).toMatchObject({
      ok: true,
    })
  })
})
