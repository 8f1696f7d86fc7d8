import { generateKeyPairSync } from 'node:crypto'
import { calculateJwkThumbprint, createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { planOrder } from '../../test/delivery/sample-orders.ts'
import { ConfigError } from '../errors.ts'
import type { Order } from '../ports.ts'
import { createJwtDelivery, type JwtDeliveryConfig } from './issue-jwt.ts'
import { publicJwks } from './jwks.ts'
import { rsaKeys, sharedSecretKeys } from './token-keys.ts'

const order = { ...planOrder, resourceId: 'eu:west', paidAt: 1_750_000_000_999 }
const secret = 's'.repeat(32)
const config: JwtDeliveryConfig = {
  keys: sharedSecretKeys(secret),
  issuer: 'https://gate.example',
  tokenTtlSeconds: 3600,
  plans: [{ planId: 'pro' }, { planId: 'day', tokenTtlSeconds: 86_400 }],
  places: {
    resourceEndpoint: 'https://gate.example/resource/{resourceId}',
    explorerTxUrl: () => 'https://sepolia.basescan.org/tx/',
  },
}

function pem(bits = 2048) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits })
  return {
    private: privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
    pkcs1: privateKey.export({ format: 'pem', type: 'pkcs1' }) as string,
    public: publicKey.export({ format: 'pem', type: 'spki' }) as string,
  }
}
const older = pem()
const newer = pem()

async function buy(changes: Partial<JwtDeliveryConfig> = {}, of: Order = order) {
  const delivery = createJwtDelivery({ ...config, ...changes })
  const delivered = await delivery.deliver(of)
  if (delivered.kind !== 'delivered') throw new Error(delivered.reason)
  return { delivery, sealed: delivered.sealed, grant: await delivery.open(of, delivered.sealed) }
}

describe('createJwtDelivery', () => {
  test('the grant has every field, and its token every claim', async () => {
    const { delivery, grant } = await buy()
    expect(delivery.instant).toBe(true)
    const { accessToken, ...rest } = grant
    expect(rest).toEqual({
      type: 'AccessGrant',
      challengeId: 'http-abc',
      requestId: 'req-1',
      tokenType: 'Bearer',
      resourceEndpoint: 'https://gate.example/resource/eu%3Awest',
      resourceId: 'eu:west',
      planId: 'pro',
      txHash: order.txHash,
      explorerUrl: `https://sepolia.basescan.org/tx/${order.txHash}`,
      expiresAt: '2025-06-15T16:06:40.000Z',
    })
    expect(decodeProtectedHeader(accessToken)).toEqual({ alg: 'HS256', typ: 'JWT' })
    expect(decodeJwt(accessToken)).toEqual({
      iss: 'https://gate.example',
      sub: order.payer,
      walletAddress: order.payer,
      aud: 'https://gate.example/resource/eu%3Awest',
      jti: 'http-abc',
      planId: 'pro',
      resourceId: 'eu:west',
      txHash: order.txHash,
      iat: 1_750_000_000,
      exp: 1_750_003_600,
    })
  })

  test('what is stored holds claims only: no token and no signature', async () => {
    const { sealed, grant } = await buy()
    expect(sealed).not.toContain(grant.accessToken)
    expect(sealed).not.toContain(grant.accessToken.split('.')[2])
    expect(Object.keys(JSON.parse(sealed))).not.toContain('accessToken')
  })

  test('delivering twice and opening twice give the same grant', async () => {
    for (const keys of [config.keys, rsaKeys(newer.private)]) {
      const first = await buy({ keys })
      const second = await buy({ keys })
      expect(second.sealed).toBe(first.sealed)
      expect(second.grant).toEqual(first.grant)
    }
  })

  test('a plan may have its own lifetime', async () => {
    const { grant } = await buy({}, { ...order, itemId: 'day' })
    expect(decodeJwt(grant.accessToken).exp).toBe(1_750_000_000 + 86_400)
  })

  test('a lifetime or address changed after the sale does not change what was sold', async () => {
    const { sealed, grant } = await buy()
    const moved = createJwtDelivery({
      ...config,
      tokenTtlSeconds: 1,
      issuer: 'https://other.example',
      plans: [],
    })
    expect(await moved.open(order, sealed)).toEqual(grant)
  })

  test.each(['', 's1.abc.def', '{}', 'null'])(
    'a result sealed by another step (%j) is opened as a JWT',
    async (text) => {
      const { delivery, grant } = await buy()
      expect(await delivery.open(order, text)).toEqual(grant)
    },
  )

  test('the stored claims of another challenge are never signed for this one', async () => {
    const { sealed } = await buy({}, { ...order, challengeId: 'http-other', resourceId: 'secret' })
    const { delivery } = await buy()
    expect(decodeJwt((await delivery.open(order, sealed)).accessToken).resourceId).toBe('eu:west')
  })

  test('a route gets no token', async () => {
    const delivered = await createJwtDelivery(config).deliver({ ...order, kind: 'route' })
    expect(delivered.kind).toBe('failed')
  })
})

describe('token keys', () => {
  test('RS256 tokens can be verified with the published JWKS, whose kid is the thumbprint', async () => {
    const keys = rsaKeys(newer.private)
    const { grant } = await buy({ keys })
    const jwks = publicJwks(keys)!
    const { payload } = await jwtVerify(grant.accessToken, createLocalJWKSet(jwks), {
      algorithms: ['RS256'],
      currentDate: new Date(order.paidAt),
    })
    expect(payload.jti).toBe('http-abc')
    expect(jwks.keys[0]!.kid).toBe(await calculateJwkThumbprint(jwks.keys[0]!))
    expect(decodeProtectedHeader(grant.accessToken).kid).toBe(jwks.keys[0]!.kid)
  })

  test('the JWKS holds public members only', () => {
    const { keys } = publicJwks(rsaKeys(newer.private + older.private))!
    for (const key of keys) expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use'])
  })

  test.each([
    ['private', older.private],
    ['public', older.public],
    ['PKCS#1', older.pkcs1],
  ])('while rotating, the old %s key is published beside the new one that signs', async (_kind, old) => {
    const before = await buy({ keys: rsaKeys(older.private) })
    const keys = rsaKeys(`${newer.private}\n${old}`)
    const after = await buy({ keys })
    const jwks = createLocalJWKSet(publicJwks(keys)!)
    for (const { grant } of [before, after]) {
      await jwtVerify(grant.accessToken, jwks, { currentDate: new Date(order.paidAt) })
    }
    expect(decodeProtectedHeader(after.grant.accessToken).kid).toBe(
      decodeProtectedHeader((await buy({ keys: rsaKeys(newer.private) })).grant.accessToken).kid,
    )
  })

  test('HS256 publishes nothing', () => {
    expect(publicJwks(config.keys)).toBeUndefined()
  })

  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    format: 'pem',
    type: 'pkcs8',
  })
  test.each([
    ['a short secret', () => sharedSecretKeys('hunter2'), 'has 7 bytes'],
    ['no PEM', () => rsaKeys('hunter2'), 'does not begin with'],
    ['a public key first', () => rsaKeys(newer.public), 'does not begin with'],
    ['a weak key', () => rsaKeys(pem(1024).private), '1024 bits'],
    ['another kind of key', () => rsaKeys(ec as string), 'of type ec'],
    [
      'a broken PEM',
      () => rsaKeys('-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----'),
      'cannot be read',
    ],
  ])('%s is refused in one line that does not repeat it', (_what, make, fault) => {
    expect(make).toThrow(ConfigError)
    expect(make).toThrow(fault)
    expect(make).toThrow(expect.objectContaining({ message: expect.not.stringContaining('hunter2') }))
  })

  test('the length of a secret is counted in bytes, not characters', () => {
    expect(sharedSecretKeys('é'.repeat(16)).alg).toBe('HS256')
  })
})
