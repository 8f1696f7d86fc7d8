import { expect, test } from 'vitest'
import { testPorts } from '../../../test/engine/test-core.ts'
import { MAINNET, SELLER, TESTNET, testRail } from '../../../test/engine/test-rail.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import type { TransferTx } from '../../ports.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createEngine } from '../engine.ts'

const OTHER_SELLER = `0x${'77'.repeat(20)}` as const
const txHash = `0x${'7a'.repeat(32)}` as const
const signature = '0x51'
const block = { number: 9, hash: '0xb9', timestamp: 400 } as const
const found: TransferTx = {
  txHash,
  sender: PAYER,
  block,
  transfers: [{ logIndex: 3, from: PAYER, to: OTHER_SELLER, value: '1000000' }],
}

async function open() {
  const settlement = { unavailable: async () => undefined }
  const chain = { head: async () => ({ latest: block, finalized: block }) }
  const hasSigned = async () => true
  const preferred = testRail({
    settlement,
    chain,
    hasSigned,
    transfers: async () => ({ at: block, found: undefined }),
  })
  const other = testRail({
    network: MAINNET,
    payTo: OTHER_SELLER,
    settlement,
    chain,
    hasSigned,
    transfers: async () => ({ at: block, found }),
  })
  const { ports, config } = testPorts({ clock: createFakeClock(500_000), rails: [preferred, other] })
  const delivery = {
    instant: true,
    deliver: async () => ({ kind: 'delivered' as const, sealed: 'x', expiresAt: null }),
    open: async () => ({ accessToken: 't' }) as never,
    expiryOf: () => null,
  }
  const engine = createEngine({ ...ports, delivery }, config)
  for (const key of ['a2a-1', 'a2a-2']) {
    const facts = { key, amount: '1000000', createdAt: 300_000, expiresAt: 900_000, payTo: SELLER }
    await ports.store.commit({ puts: [{ table: 'challenges', row: testChallenge(facts) }] })
  }
  const prove = (challengeId: string, network?: string) =>
    engine.purchase({
      transport: 'a2a',
      challengeId,
      proof: { txHash, signature, ...(network && { network }) },
    })
  return { store: ports.store, other, prove }
}

test('a transfer is taken on the network that its proof names, to the recipient there, and once', async () => {
  const { store, other, prove } = await open()
  expect(
    await prove('a2a-1'),
    'without a network it is looked for where the challenge was opened',
  ).toMatchObject({
    error: { code: 'SETTLEMENT_PENDING' },
  })
  expect(await prove('a2a-1', MAINNET.id)).toMatchObject({
    kind: 'granted',
    settled: { network: MAINNET.id, txHash },
  })
  expect(await store.list('receipts', 'a2a-1')).toMatchObject([
    {
      key: `${MAINNET.chainId}:${txHash}:plain-0`,
      rail: other.id,
      source: { kind: 'transfer', to: OTHER_SELLER },
    },
  ])
  expect(await prove('a2a-2', MAINNET.id)).toMatchObject({ error: { code: 'TX_ALREADY_REDEEMED' } })
})

test('a network on which nothing is sold is refused, with those on which it is', async () => {
  const { prove } = await open()
  expect(await prove('a2a-1', 'eip155:1')).toMatchObject({
    error: { code: 'INVALID_PROOF', message: expect.stringContaining(`${TESTNET.id}, ${MAINNET.id}`) },
  })
})
