import { expect, test } from 'vitest'
import { MAINNET } from '../../../test/engine/test-rail.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { rememberNetworks } from './remember-networks.ts'

const rollup = { ...MAINNET, id: 'eip155:4663', testnet: true }

test('a described network is remembered as it was described last, and a known one is not', async () => {
  const store = createMemoryStore()
  await rememberNetworks(store, [MAINNET, rollup])
  await rememberNetworks(store, [MAINNET, rollup])
  expect(await store.list('books', 'networks')).toMatchObject([{ version: 1, testnet: true }])
  await rememberNetworks(store, [{ ...rollup, testnet: false }])
  expect(await store.list('books', 'networks')).toMatchObject([
    { version: 2, id: 'eip155:4663', testnet: false, token: { decimals: 6, symbol: 'USDC' } },
  ])
})
