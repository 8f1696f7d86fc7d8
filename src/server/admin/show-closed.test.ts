import { expect, test } from 'vitest'
import type { ClosedCredits } from '../../backstage.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { NETWORKS_REF, networkKey } from '../../rules/sales-book.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { knownNetworks } from './known-networks.ts'
import { showClosed } from './show-closed.ts'

const base = findNetwork('base')!
const closed: ClosedCredits = {
  ...({ challengeId: 'http-1', status: 'closed', granted: 50, spent: 20, reserved: 0 } as const),
  refund: {
    recipient: `0x${'b'.repeat(40)}`,
    value: '600000',
    network: base.id,
    asset: base.token.address,
    phase: 'WAITING',
    txHash: null,
  },
}
const refund = closed.refund!
const value = `6${'0'.repeat(17)}`
const asset = `0x${'d'.repeat(40)}` as const

test('what goes back for closed credits is told in dollars, by the decimals of the token it was paid in', async () => {
  const store = createMemoryStore()
  const find = await knownNetworks(store, [])
  expect(showClosed(closed, find).refund).toEqual({ ...refund, usd: '$0.60' })
  const custom = {
    ...base,
    id: 'eip155:5',
    token: { ...base.token, address: asset, decimals: 18 },
  } as typeof base
  const other = { ...closed, refund: { ...refund, network: custom.id, asset, value } }
  expect(showClosed(other, await knownNetworks(store, [custom])).refund).toMatchObject({
    value,
    usd: '$0.60',
  })
  expect(showClosed({ ...closed, refund: null }, find)).toEqual({ ...closed, refund: null })
})

test('the same of a described network that is configured no longer, and of a former token', async () => {
  const store = createMemoryStore()
  const { id, name, testnet, explorerTxUrl } = { ...base, id: 'eip155:5', name: 'Five' }
  const token = { address: asset, symbol: 'DAIX', decimals: 18 }
  for (const network of [id, base.id]) {
    const known = { kind: 'network', id: network, name, testnet, explorerTxUrl, token } as const
    const row = { key: networkKey(network, asset), version: 0, ref: NETWORKS_REF, dueAt: null, ...known }
    await store.commit({ puts: [{ table: 'books', row }] })
  }
  const find = await knownNetworks(store, [])
  for (const network of [id, base.id]) {
    const other = { ...closed, refund: { ...refund, network, asset, value } }
    expect(showClosed(other, find).refund, network).toMatchObject({ usd: '$0.60' })
  }
})
