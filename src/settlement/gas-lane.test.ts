import { expect, test } from 'vitest'
import type { Chain, Turns, TxSigner } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createLane } from './gas-lane.ts'

const WALLET: Address = `0x${'a'.repeat(40)}`

function setUp() {
  const events: string[] = []
  const turns: Turns = {
    async take(name) {
      events.push(`take ${name}`)
      return () => void events.push('end')
    },
    close() {},
  }
  const chain = { fails: false }
  const wallet: Chain['wallet'] = async () => {
    if (chain.fails) throw new Error('unreachable')
    return { nonce: 5, balanceWei: 1n, baseFeeWei: 1n, priorityFeeWei: 1n }
  }
  const parts = { chainId: 84532, store: createMemoryStore(), clock: createFakeClock(), turns }
  const signer = { address: WALLET } as TxSigner
  const lane = createLane(signer, { chain: { wallet } as Chain, ...parts })
  return { lane, events, chain }
}

test('a turn lasts until every batch that it allocated for is stored', async () => {
  const { lane, events } = setUp()
  expect(await lane.allocate(2)).toEqual([5, 6])
  lane.confirm(6)
  expect(events).toEqual([`take 84532:${WALLET}`])
  lane.confirm(5)
  expect(events).toEqual([`take 84532:${WALLET}`, 'end'])
})

test('a turn ends if its batches are given up or nothing can be allocated', async () => {
  const { lane, events, chain } = setUp()
  await lane.allocate(2)
  lane.confirm(5)
  lane.release(6)
  expect(events).toEqual([`take 84532:${WALLET}`, 'end'])
  lane.distrust()
  chain.fails = true
  await expect(lane.allocate(1)).rejects.toThrow('unreachable')
  expect(events.slice(2)).toEqual([`take 84532:${WALLET}`, 'end'])
})
