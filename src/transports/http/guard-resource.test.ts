import { expect, test } from 'vitest'
import { GatewayError } from '../../errors.ts'
import type { EndpointContext } from './endpoint.ts'
import { createResourceGuard } from './guard-resource.ts'

/** The guard of one resource, whose token is refused with this error. */
function answering(error: GatewayError) {
  const admit: EndpointContext['admit'] = (...[, refused, more]: unknown[]) => ({
    status: (refused as GatewayError).httpStatus,
    headers: (more as { headers: Record<string, string> }).headers,
    body: null,
  })
  const guard = createResourceGuard({ admit } as EndpointContext, {
    path: '/resource/{resourceId}',
    realm: 'http://gate.example',
    resourceIdOf: () => 'weather',
    verifyAccess: async () => ({ ok: false, error }),
    forward: () => Promise.reject(new Error('nothing is passed on')),
  })
  const request = new Request('http://gate.example/resource/weather', {
    headers: { authorization: 'Bearer good' },
  })
  return guard('/resource/weather')!.GET!(request, { address: undefined })
}

test('a token is called invalid with 401 alone: while the store cannot be read, its client must keep it', async () => {
  const refused = await answering(new GatewayError('UNAUTHORIZED', 'expired'))
  expect(refused).toMatchObject({ status: 401 })
  expect((refused as { headers: Record<string, string> }).headers['www-authenticate']).toContain(
    'invalid_token',
  )
  expect(await answering(new GatewayError('SETTLEMENT_PENDING', 'the store is away'))).toMatchObject({
    ...{ status: 503, headers: {} },
  })
})
