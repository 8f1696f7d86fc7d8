import { describe, expect, test } from 'vitest'
import { testPorts } from '../../test/engine/test-core.ts'
import { buildCatalog } from '../rules/catalog.ts'
import { createEngine } from './engine.ts'
import type { Intent } from './outcome.ts'

const CALL = { method: 'GET', path: '/weather/paris', headers: {}, body: null }

describe.each<Intent['transport']>(['http', 'a2a', 'mcp'])('without a backend, over %s', (transport) => {
  const { ports, config } = testPorts({
    config: {
      catalog: buildCatalog(
        [{ planId: 'basic', unitAmount: '$1.00' }],
        [{ routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' }],
      ),
    },
  })
  const engine = createEngine(ports, config)

  test('a plan is offered, also to a buyer that names a call besides', async () => {
    const offered = await engine.purchase({ transport, planId: 'basic', call: CALL })
    expect(offered).toMatchObject({
      kind: 'challenge',
      offer: { kind: 'plan', itemId: 'basic' },
    })
  })

  test('a call that only the seller’s own server answers is refused', async () => {
    for (const asked of [{ routeId: 'weather', call: CALL }, { call: CALL }, { routeId: 'weather' }]) {
      expect(await engine.purchase({ transport, ...asked })).toMatchObject({
        kind: 'failed',
        error: { code: 'INVALID_REQUEST', message: expect.stringContaining("seller's own server") },
      })
    }
  })
})
