import type { Order } from '../../src/ports.ts'

/** A plan that was paid. */
export const planOrder: Order = {
  challengeId: 'http-abc',
  requestId: 'req-1',
  kind: 'plan',
  itemId: 'pro',
  resourceId: 'weather',
  resource: null,
  payer: '0x00000000000000000000000000000000000000aa',
  amount: '1000000',
  network: 'eip155:84532',
  txHash: `0x${'1'.repeat(64)}`,
  clientAgentId: null,
  paidAt: 1_750_000_000_000,
}

/** A call of a route that was paid. */
export const routeOrder: Order = {
  challengeId: 'http-1',
  requestId: 'r-1',
  kind: 'route',
  itemId: 'weather',
  resourceId: 'default',
  resource: { method: 'GET', path: '/weather/paris' },
  payer: `0x${'11'.repeat(20)}`,
  amount: '10000',
  network: 'eip155:84532',
  txHash: `0x${'ab'.repeat(32)}`,
  clientAgentId: null,
  paidAt: 0,
}
