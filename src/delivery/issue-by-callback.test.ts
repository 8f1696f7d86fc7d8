import { describe, expect, test, vi } from 'vitest'
import { planOrder } from '../../test/delivery/sample-orders.ts'
import { UnavailableError } from '../errors.ts'
import type { FetchResourceCredentials } from '../ports.ts'
import { createCallbackDelivery } from './issue-by-callback.ts'
import { createSeal } from './seal.ts'
import { parseSecretKeys } from './secret-keys.ts'

const order = planOrder

function setUp(
  fetchResourceCredentials: FetchResourceCredentials,
  secret = 'k'.repeat(32),
  timeoutMs = 5000,
) {
  const alerts: string[] = []
  const delivery = createCallbackDelivery({
    fetchResourceCredentials,
    seal: createSeal(parseSecretKeys(secret).sealing),
    places: {
      resourceEndpoint: 'https://gate.example/r/{resourceId}',
      explorerTxUrl: () => 'https://scan.example/tx/',
    },
    alerts: { raise: (kind, message) => void alerts.push(`${kind}: ${message}`) },
    timeoutMs,
  })
  return { delivery, alerts }
}

async function buy(answer: unknown) {
  const { delivery } = setUp(() => answer as string)
  const delivered = await delivery.deliver(order)
  if (delivered.kind === 'failed') return delivered.reason
  return delivery.open(order, delivered.sealed)
}

describe('createCallbackDelivery', () => {
  test('the callback gets plan, resource and payer, and the challenge as idempotency key', async () => {
    const callback = vi.fn(() => 'key-1')
    const { delivery } = setUp(callback)
    expect(delivery.instant).toBe(false)
    await delivery.deliver(order)
    expect(callback.mock.calls).toEqual([
      ['pro', 'weather', order.payer, { challengeId: 'http-abc', txHash: order.txHash }],
    ])
  })

  test('a string becomes a complete grant', async () => {
    expect(await buy('api-key-1')).toEqual({
      type: 'AccessGrant',
      challengeId: 'http-abc',
      requestId: 'req-1',
      accessToken: 'api-key-1',
      tokenType: 'Bearer',
      resourceEndpoint: 'https://gate.example/r/weather',
      resourceId: 'weather',
      planId: 'pro',
      txHash: order.txHash,
      explorerUrl: `https://scan.example/tx/${order.txHash}`,
    })
  })

  test.each([
    [{ accessToken: 'a' }, { accessToken: 'a' }],
    [{ token: 't' }, { accessToken: 't' }],
    [{ accessToken: 'a', token: 't' }, { accessToken: 'a' }],
    [{ token: 't', tokenType: 'MAC' }, { tokenType: 'Bearer' }],
    [{ token: 't', expiresAt: '2030-01-31T13:00:00+01:00' }, { expiresAt: '2030-01-31T12:00:00.000Z' }],
    [{ token: 't', expiresAt: new Date(0) }, { expiresAt: '1970-01-01T00:00:00.000Z' }],
    [{ token: 't', expiresAt: null, resourceEndpoint: null }, { accessToken: 't' }],
    [
      { token: 't', resourceEndpoint: 'https://api.example/v1' },
      { resourceEndpoint: 'https://api.example/v1' },
    ],
  ])('%j is understood', async (answer, expected) => {
    expect(await buy(answer)).toMatchObject(expected)
  })

  test.each([
    ['', 'accessToken is not'],
    [undefined, 'no credential object'],
    [null, 'no credential object'],
    [42, 'no credential object'],
    [[], 'no credential object'],
    [{}, 'neither accessToken nor token'],
    [{ accessToken: 42 }, 'accessToken is not'],
    [{ token: '' }, 'token is not'],
    [{ token: 'x'.repeat(65_537) }, 'token is not'],
    [{ token: 't', expiresAt: 'soon' }, 'expiresAt is not an ISO 8601 time'],
    [{ token: 't', expiresAt: 1_750_000_000 }, 'expiresAt is not an ISO 8601 time'],
    [{ token: 't', expiresAt: new Date(Number.NaN) }, 'expiresAt is not an ISO 8601 time'],
    [{ token: 't', resourceEndpoint: 'javascript:alert(1)' }, 'resourceEndpoint is not an http'],
    [{ token: 't', resourceEndpoint: '/relative' }, 'resourceEndpoint is not an http'],
  ])('%.60j fails the delivery', async (answer, reason) => {
    expect(await buy(answer)).toContain(reason)
  })

  test('if the function throws, the delivery fails, and only the operator sees its message', async () => {
    for (const callback of [
      () => {
        throw new Error('password hunter2 refused')
      },
      () => Promise.reject(new Error('password hunter2 refused')),
      () => Promise.reject('hunter2'),
    ] satisfies FetchResourceCredentials[]) {
      const { delivery, alerts } = setUp(callback)
      expect(await delivery.deliver(order)).toEqual({
        kind: 'failed',
        reason: 'fetchResourceCredentials failed',
      })
      expect(alerts).toHaveLength(1)
      expect(alerts[0]).toMatch(/^delivery-failed: challenge http-abc: fetchResourceCredentials threw/)
    }
  })

  test('if the function hangs, the delivery fails after a time limit', async () => {
    const { delivery } = setUp(() => new Promise(() => undefined), undefined, 20)
    expect(await delivery.deliver(order)).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining('0.02 s'),
    })
  })

  test('the stored result is encrypted', async () => {
    const { delivery } = setUp(() => 'api-key-1')
    expect(JSON.stringify(await delivery.deliver(order))).not.toContain('api-key-1')
  })

  test('a stored result is opened without asking again', async () => {
    const callback = vi.fn(() => 'api-key-1')
    const { delivery } = setUp(callback)
    const delivered = await delivery.deliver(order)
    if (delivered.kind === 'delivered') await delivery.open(order, delivered.sealed)
    expect(callback).toHaveBeenCalledTimes(1)
  })

  test.each(['s1.AAAAAAAA.AAAA', '{"iss":"a claim set of the built-in JWT"}', ''])(
    'a result that cannot be decrypted (%j) is issued again under the same idempotency key',
    async (sealed) => {
      const callback = vi.fn(
        (_plan: string, _resource: string, _wallet: string, payment: { challengeId: string }) => {
          return `key-for-${payment.challengeId}`
        },
      )
      const { delivery } = setUp(callback)
      expect((await delivery.open(order, sealed)).accessToken).toBe('key-for-http-abc')
      expect(callback).toHaveBeenCalledTimes(1)
    },
  )

  test('a result sealed with a lost key is issued again; one of a rotated key is opened', async () => {
    const before = await setUp(() => 'first', 'a'.repeat(32)).delivery.deliver(order)
    if (before.kind === 'failed') throw new Error(before.reason)
    const lost = setUp(() => 'second', 'b'.repeat(32)).delivery
    expect((await lost.open(order, before.sealed)).accessToken).toBe('second')
    const rotated = setUp(() => 'second', `${'b'.repeat(32)},${'a'.repeat(32)}`).delivery
    expect((await rotated.open(order, before.sealed)).accessToken).toBe('first')
  })

  test('if issuing again fails, nothing is final: the buyer may ask once more', async () => {
    const { delivery } = setUp(() => Promise.reject(new Error('down')))
    await expect(delivery.open(order, 'unreadable')).rejects.toThrow(UnavailableError)
  })

  test('it is never called for a route', async () => {
    const callback = vi.fn(() => 'key')
    expect((await setUp(callback).delivery.deliver({ ...order, kind: 'route' })).kind).toBe('failed')
    expect(callback).not.toHaveBeenCalled()
  })
})
