import { expect, test } from 'vitest'
import type { Chain, Store, TxSigner } from '../ports.ts'
import { createSubmitters } from './submitters.ts'

const signer = (address: `0x${string}`): TxSigner => ({
  address,
  sign: async () => ({ raw: '0x', hash: '0x' }),
})
const GAS = signer('0x0000000000000000000000000000000000000001')
const REFUND = signer('0x0000000000000000000000000000000000000002')
const facilitator = { settle: async () => ({ kind: 'hint' as const }) }

function build(
  way: Parameters<typeof createSubmitters>[1],
  refundWallet: TxSigner | undefined,
  ether: bigint,
) {
  const wallet = async () => ({ nonce: 0, balanceWei: ether, baseFeeWei: 10n, priorityFeeWei: 1n })
  const told: string[] = []
  const parts = {
    chain: { wallet } as unknown as Chain,
    store: {} as Store,
    clock: { now: () => 0, sleep: async () => {} },
    alerts: { raise: (kind: string) => void told.push(kind) },
  }
  return { ...createSubmitters(parts, way, refundWallet), told }
}

const available = async ({ refundSubmitters }: ReturnType<typeof build>) =>
  Promise.all(refundSubmitters.map(async (one) => (await one.unavailable()) === undefined))

test('a refund wallet without ETH sends nothing, and nobody is told: the facilitator can', async () => {
  const built = build({ kind: 'facilitator', facilitator }, REFUND, 0n)
  expect(await available(built)).toEqual([false, true])
  expect(built.told).toEqual([])
})

test('with a little ETH it goes before the facilitator, and after a gas wallet', async () => {
  const little = 10n ** 9n
  expect(await available(build({ kind: 'facilitator', facilitator }, REFUND, little))).toEqual([true, true])
  const built = build({ kind: 'gas-wallet', signers: [GAS] }, REFUND, little)
  expect(built.refundSubmitters[0]).toBe(built.settlement)
  expect(await available(built)).toEqual([true, true])
})

test('payments never go by the refund wallet', () => {
  const built = build({ kind: 'facilitator', facilitator }, REFUND, 10n ** 18n)
  expect(built.settlement.packs).toBe(1)
  expect(build({ kind: 'gas-wallet', signers: [GAS] }, REFUND, 1n).settlement).not.toBe(
    built.refundSubmitters[0],
  )
})

test('a refund wallet that is also a gas wallet is one wallet, with one line of nonces', () => {
  const { refundSubmitters, settlement } = build({ kind: 'gas-wallet', signers: [GAS, REFUND] }, REFUND, 1n)
  expect(refundSubmitters).toEqual([settlement])
})

test('without a refund key there is nobody but who sends payments', () => {
  const { refundSubmitters, settlement } = build({ kind: 'facilitator', facilitator }, undefined, 1n)
  expect(refundSubmitters).toEqual([settlement])
})
