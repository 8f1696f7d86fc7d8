import { expect, test } from 'vitest'
import type { ClosedCredits } from '../../backstage.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { showClosed } from './show-closed.ts'

const base = findNetwork('base')!
const closed: ClosedCredits = {
  ...({ challengeId: 'http-1', status: 'closed', granted: 50, spent: 20, reserved: 0 } as const),
  refund: {
    recipient: `0x${'b'.repeat(40)}`,
    value: '600000',
    network: base.id,
    phase: 'WAITING',
    txHash: null,
  },
}
const refund = closed.refund!

test('what goes back for closed credits is told in dollars, by the decimals of the token it was paid in', () => {
  expect(showClosed(closed, []).refund).toEqual({ ...refund, usd: '$0.60' })
  const custom = { ...base, id: 'eip155:5', token: { ...base.token, decimals: 18 } } as typeof base
  const other = { ...closed, refund: { ...refund, network: custom.id, value: `6${'0'.repeat(17)}` } }
  expect(showClosed(other, [custom]).refund).toMatchObject({ value: `6${'0'.repeat(17)}`, usd: '$0.60' })
  expect(showClosed({ ...closed, refund: null }, [])).toEqual({ ...closed, refund: null })
})
